export { freePort } from './free-port.js';
export { until } from './until.js';
