export { LocalServer, type RecordedRequest } from './local-server.js';
export { describeModelProviderContract, type ModelContractSubject } from './model-provider.contract.js';
export { anthropicWire } from './wires/anthropic.wire.js';
export { openAiChatWire } from './wires/openai-chat.wire.js';
export { openAiResponsesWire } from './wires/openai-responses.wire.js';
export type { Scenario, ScenarioCall, Wire } from './wires/scenario.js';
export { VendorServer } from './wires/vendor.server.js';
export { until } from './until.js';
