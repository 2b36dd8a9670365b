export { describeAgentProviderContract } from './agent-provider.contract.js';
export type { AgentScenario } from './agent-scenario.js';
export { localEgress, localOutbound } from './local-egress.js';
export { LocalServer } from './local-server.js';
export { expectNoOpenResources, openResources } from './open-resources.js';
export { describeModelProviderContract } from './model-provider.contract.js';
export { legacyJsonRpcWire } from './a2a-wires/json-rpc.wire.js';
export { FakeA2aServer } from './fake-a2a.server.js';
export { startFakeHttpAgent } from './fake-http.agent.js';
export { FakeClaudeSdk } from './fake-claude.sdk.js';
export { FakeProgram } from './fake-program.js';
export { A2aWorker, HttpWorker, ProgramWorker } from './remote-workers.js';
export { openAiChatWire } from './wires/openai-chat.wire.js';
export { VendorServer } from './wires/vendor.server.js';
export { LangfuseServer } from './langfuse.server.js';
export { ScriptedModel, scripted } from '../models/scripted/scripted.model.js';
export {
  breakAfter,
  callTool,
  callTools,
  failWith,
  hangAfter,
  refuse,
  runOutOfTokens,
  say,
  think,
  using,
  type Step,
} from '../models/scripted/script.js';
export { FakeMcpServer, type FakeMcpTool } from './fake-mcp.server.js';
export { FAKE_MCP_PROGRAM } from './fake-mcp.program.js';
