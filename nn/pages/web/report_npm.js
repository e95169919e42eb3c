// The bundle's beginning where npm is at hand.
import uPlot from 'uplot';

import { libraries } from './libraries.js';
import './report.js';

libraries.uPlot = uPlot;
