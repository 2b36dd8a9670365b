import type { Role } from '../../apps/api/src/auth/permissions.js';
import { HOOK, type Target, type TargetKind } from './access-matrix.js';
import { rawRequest } from './mcp-client.js';

/** The expected result of one operation that shares its route with other operations. A result is `ok` or the code of an error. */
export interface OperationRow {
  /** The roles with the permission; every other role gets FORBIDDEN. */
  roles: string;
  /** The result for a role with the permission, if the caller owns the object. */
  ok: string;
  target?: TargetKind;
  params: (target: Target) => Record<string, unknown>;
  /** The result for an object of another principal in the same namespace, by role. Absent: the value of `ok`. */
  others?: Partial<Record<Role, string>>;
  /** The result for an object of another namespace. */
  elsewhere?: string;
}

export interface OperationRequest {
  path: string;
  headers: Record<string, string>;
  body: object;
}

/** One protocol with its operations. */
export interface OperationTable {
  rows: Record<string, OperationRow>;
  request(operation: string, params: Record<string, unknown>): OperationRequest;
}

const ALL = 'admin operator agent caller viewer';
const READS = 'admin operator caller viewer';
const CALLS = 'admin operator caller';

const none = (): Record<string, unknown> => ({});
const message = (): object => ({ messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Hello.' }] });
const sent = ({ id }: Target): Record<string, unknown> => ({
  tenant: id,
  message: message(),
  configuration: { returnImmediately: true },
});
const addressed = { target: 'definition', elsewhere: 'AGENT_NOT_FOUND' } as const;
const task = { target: 'run', elsewhere: 'TASK_NOT_FOUND', ok: 'ok' } as const;
const readTask = { ...task, roles: READS, others: { caller: 'TASK_NOT_FOUND' } } as const;
const readPush = { ...readTask, others: { caller: 'TASK_NOT_FOUND', viewer: 'TASK_NOT_FOUND' } } as const;
const ownTask = { ...task, roles: CALLS, others: { caller: 'TASK_NOT_FOUND' } } as const;
const byId = ({ id }: Target): Record<string, unknown> => ({ id });
const byTask = ({ id }: Target): Record<string, unknown> => ({ taskId: id });
const config = ({ id }: Target): Record<string, unknown> => ({ taskId: id, id: 'none' });

/** The methods of A2A over JSON-RPC. In HTTP+JSON, each method has its own route. */
export const A2A_METHODS: OperationTable = {
  request: (method, params) => ({
    path: '/a2a',
    headers: { 'a2a-version': '1.0' },
    body: { jsonrpc: '2.0', id: 1, method, params },
  }),
  rows: {
    SendMessage: { ...addressed, roles: CALLS, ok: 'ok', params: sent },
    SendStreamingMessage: { ...addressed, roles: CALLS, ok: 'ok', params: sent },
    GetTask: { ...readTask, params: byId },
    ListTasks: { roles: READS, ok: 'ok', params: none },
    CancelTask: { ...ownTask, params: byId },
    SubscribeToTask: { ...readTask, params: byId },
    CreateTaskPushNotificationConfig: { ...ownTask, params: (target) => ({ ...byTask(target), url: HOOK }) },
    GetTaskPushNotificationConfig: { ...readPush, ok: 'TASK_NOT_FOUND', params: config }, // the task has no configuration
    ListTaskPushNotificationConfigs: { ...readPush, params: byTask },
    DeleteTaskPushNotificationConfig: { ...ownTask, params: config },
    GetExtendedAgentCard: { roles: ALL, ok: 'ok', params: none },
  },
};

const run = { target: 'run', elsewhere: 'RUN_NOT_FOUND', ok: 'ok' } as const;
const byRun = ({ id }: Target): Record<string, unknown> => ({ runId: id });

/** The tools of MCP. */
export const MCP_TOOLS: OperationTable = {
  request: (name, input) => ({ path: '/mcp', ...rawRequest('tools/call', { name, arguments: input }) }),
  rows: {
    find_agents: { roles: ALL, ok: 'ok', params: none },
    describe_agent: { ...addressed, roles: ALL, ok: 'ok', params: ({ id }) => ({ agent: id }) },
    run_agent: {
      ...addressed,
      roles: CALLS,
      ok: 'ok',
      params: ({ id }) => ({ agent: id, input: 'Hello.', waitMs: 0 }),
    },
    get_run: { ...run, roles: READS, others: { caller: 'RUN_NOT_FOUND' }, params: byRun },
    answer_run: {
      ...run,
      roles: CALLS,
      ok: 'RUN_NOT_WAITING',
      others: { caller: 'RUN_NOT_FOUND' },
      params: (target) => ({ ...byRun(target), input: 'Yes.' }),
    },
    cancel_run: { ...run, roles: CALLS, others: { caller: 'RUN_NOT_FOUND' }, params: byRun },
    get_budgets: { roles: ALL, ok: 'ok', params: none },
    create_agent: {
      roles: 'admin operator',
      ok: 'ok',
      params: () => ({ name: `made-${crypto.randomUUID()}`, content: { description: 'Made here.' } }),
    },
    list_agents: { roles: ALL, ok: 'ok', params: none },
    shutdown_agent: { roles: 'admin operator', ok: 'AGENT_NOT_FOUND', params: () => ({ name: 'absent' }) },
  },
};

interface ResponseBody {
  error?: { data?: { reason?: string; code?: string }[] | { reason?: string; code?: string } };
  result?: { isError?: boolean; structuredContent?: { code?: string } };
  code?: string;
}

/** Returns `ok`, or the error code of a response. */
export async function resultOf(response: Response): Promise<string> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (isStream && !response.url.endsWith('/mcp')) return (await response.body?.cancel().then(() => 'ok')) ?? 'ok';
  const text = await response.text();
  const json = isStream
    ? (/^data: (.*)$/m.exec(text.split('\n\n').findLast((block) => block.includes('data: ')) ?? '')?.[1] ?? '{}')
    : text;
  const { error, result, code } = JSON.parse(json) as ResponseBody;
  const [data] = [error?.data ?? []].flat();
  if (error) return data?.reason ?? data?.code ?? 'an error without a code';
  return code ?? (result?.isError ? (result.structuredContent?.code ?? 'an error without a code') : 'ok');
}
