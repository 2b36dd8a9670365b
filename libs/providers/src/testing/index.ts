export {
  describeAgentProviderContract,
  type AgentContractOptions,
  type AgentContractSubject,
} from './agent-provider.contract.js';
export type { AgentScenario } from './agent-scenario.js';
export { expectNoOpenResources, openResources } from './open-resources.js';
export { localEgress, localOutbound } from './local-egress.js';
export { LocalServer, type RecordedRequest } from './local-server.js';
export { describeModelProviderContract, type ModelContractSubject } from './model-provider.contract.js';
export type { A2aWire } from './a2a-wires/a2a.wire.js';
export { jsonRpcWire, legacyJsonRpcWire } from './a2a-wires/json-rpc.wire.js';
export { restWire } from './a2a-wires/rest.wire.js';
export { FakeA2aServer } from './fake-a2a.server.js';
export { startFakeHttpAgent, type HttpDialect } from './fake-http.agent.js';
export { isAlive, FakeProgram } from './fake-program.js';
export { anthropicWire } from './wires/anthropic.wire.js';
export { openAiChatWire } from './wires/openai-chat.wire.js';
export { openAiResponsesWire } from './wires/openai-responses.wire.js';
export type { Scenario, ScenarioCall, Wire } from './wires/scenario.js';
export { VendorServer } from './wires/vendor.server.js';
export { until } from './until.js';
export { LangfuseServer, type TracedCall } from './langfuse.server.js';
