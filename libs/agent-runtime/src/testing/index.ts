export { TestCalls } from './tool-calls.js';
