import type { Operation } from './openapi.js';
import { slot } from './slots.js';
import { ASKER, TALKER } from './valid-request.js';

/** The operations of A2A, MCP and the catalogs, which are not in the OpenAPI document. Add a new one here. */
export function protocolOperations(): Operation[] {
  return [...a2aOperations(), ...mcpOperations(), ...catalogOperations()];
}

type Body = Readonly<Record<string, unknown>>;
interface Protocol {
  headers?: Record<string, string>;
  bodies?: readonly Body[];
  streams?: boolean;
  /** Distinguishes operations with the same path. */
  name?: string;
}

function operation(method: string, path: string, { headers = {}, bodies, streams = false, name }: Protocol): Operation {
  const fixedHeaders = Object.entries(headers);
  const id = `${method} ${path}${name === undefined ? '' : ` ${name}`}`;
  return { id, method, path, query: [], headers: [], fixedHeaders, bodies, streams, isProtocol: true };
}

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Hello.' }] };
const configuration = { returnImmediately: true };
const pushConfig = { url: slot('receiver', 0), token: 'secret' };
const taskId = slot('run', 0);
const PUSH = 'tasks/{task}/pushNotificationConfigs';

function a2aOperations(): Operation[] {
  const headers = { 'a2a-version': '1.0' };
  const at = (base: string): Operation[] => [
    operation('GET', `${base}/extendedAgentCard`, { headers }),
    operation('GET', `${base}/tasks`, { headers }),
    operation('GET', `${base}/tasks/{task}`, { headers }),
    operation('POST', `${base}/tasks/{task}:cancel`, { headers, bodies: [{}] }),
    operation('POST', `${base}/tasks/{task}:subscribe`, { headers, bodies: [{}], streams: true }),
    operation('GET', `${base}/tasks/{task}:subscribe`, { headers, streams: true }),
    operation('POST', `${base}/message:send`, { headers, bodies: [{ message, configuration }] }),
    operation('POST', `${base}/message:stream`, { headers, bodies: [{ message }], streams: true }),
    operation('POST', `${base}/${PUSH}`, { headers, bodies: [pushConfig, { ...pushConfig, id: 'mine' }] }),
    operation('GET', `${base}/${PUSH}`, { headers }),
    operation('GET', `${base}/${PUSH}/{config}`, { headers }),
    operation('DELETE', `${base}/${PUSH}/{config}`, { headers }),
  ];
  const call = (name: string, params: Body, streams = false): Operation =>
    operation('POST', `/a2a/agents/${ASKER}`, {
      headers,
      name,
      streams,
      bodies: [{ jsonrpc: '2.0', id: 1, method: name, params }],
    });
  return [
    ...at(`/a2a/agents/${ASKER}`),
    ...at(`/a2a/${ASKER}`),
    operation('GET', '/.well-known/agent-card.json', {}),
    operation('GET', '/.well-known/jwks.json', {}),
    operation('GET', `/a2a/agents/${TALKER}`, {}),
    operation('GET', `/a2a/agents/${TALKER}/.well-known/agent-card.json`, {}),
    operation('POST', '/a2a', { headers, bodies: [{ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }] }),
    call('SendMessage', { message, configuration }),
    call('SendStreamingMessage', { message }, true),
    call('GetTask', { id: taskId }),
    call('ListTasks', { pageSize: 5, includeArtifacts: true }),
    call('CancelTask', { id: taskId }),
    call('SubscribeToTask', { id: taskId }, true),
    call('CreateTaskPushNotificationConfig', { taskId, ...pushConfig }),
    call('GetTaskPushNotificationConfig', { taskId, id: slot('push', 0) }),
    call('ListTaskPushNotificationConfigs', { taskId }),
    call('DeleteTaskPushNotificationConfig', { taskId, id: slot('push', 0) }),
    call('GetExtendedAgentCard', {}),
  ];
}

const MCP_VERSION = '2026-07-28';

function mcpOperations(): Operation[] {
  const request = (path: string, method: string, params: Body = {}): Operation => {
    const name = params['name'] ?? params['uri'];
    const about = { 'io.modelcontextprotocol/protocolVersion': MCP_VERSION };
    const _meta = { ...about, 'io.modelcontextprotocol/clientCapabilities': {} };
    return operation('POST', path, {
      name: typeof name === 'string' ? `${method} ${name.replace(/\{\{.*/, '')}` : method,
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MCP_VERSION,
        'mcp-method': method,
        ...(typeof name === 'string' && { 'mcp-name': name }),
      },
      bodies: [{ jsonrpc: '2.0', id: 1, method, params: { _meta, ...params } }],
    });
  };
  const tool = (name: string, input: Body = {}): Operation => request('/mcp', 'tools/call', { name, arguments: input });
  return [
    operation('GET', '/mcp/server-card', {}),
    operation('GET', '/.well-known/oauth-protected-resource/mcp', {}),
    request('/mcp', 'server/discover'),
    request('/mcp', 'tools/list'),
    request('/mcp', 'resources/list'),
    request('/mcp', 'resources/templates/list'),
    request('/mcp', 'resources/read', { uri: `rollcall://agents/${slot('agent', 0)}` }),
    tool('find_agents', { capabilities: ['build'] }),
    tool('describe_agent', { agent: slot('agent', 0) }),
    tool('run_agent', { agent: TALKER, input: 'Hello.', waitMs: 0 }),
    tool('get_run', { runId: taskId }),
    tool('answer_run', { runId: taskId, input: 'Go on.', waitMs: 0 }),
    tool('cancel_run', { runId: taskId }),
    tool('get_budgets'),
    request(`/mcp/agents/${TALKER}`, 'tools/list'),
    request(`/mcp/agents/${TALKER}`, 'tools/call', { name: TALKER, arguments: { input: 'Hello.', waitMs: 0 } }),
  ];
}

function catalogOperations(): Operation[] {
  return [
    ...['/.well-known/ai-catalog.json', '/.well-known/ard.json', '/ard', '/ard/agents', '/v0.1/servers'].map((path) =>
      operation('GET', path, {}),
    ),
    operation('POST', '/ard/search', { bodies: [{ query: { text: 'review code' } }] }),
    operation('POST', '/ard/explore', { bodies: [{ resultType: { facets: [{ field: 'type' }] } }] }),
  ];
}
