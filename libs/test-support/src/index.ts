export { until } from './until.js';
