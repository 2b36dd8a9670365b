export { BusyLoops } from './busy-loops.js';
export { freePort } from './free-port.js';
export { PacedConnection } from './paced-connection.js';
export { RoundRobin } from './round-robin.js';
export { until } from './until.js';
