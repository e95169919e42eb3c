// The bundle's beginning where npm is at hand.
import dagre from '@dagrejs/dagre';
import uPlot from 'uplot';

import { libraries } from './libraries.js';
import './main.js';

libraries.uPlot = uPlot;
libraries.dagre = dagre;
