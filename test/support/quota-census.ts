/**
 * What limits how many objects a caller can store, besides the responses that are kept for an Idempotency-Key: they count for the rate on
 * all routes. `quota`: a name of ROLLCALL_QUOTAS. `namespace`: a limit of the namespace. `none`: the
 * operation stores no object of its own, or the number of objects has a bound that is stated.
 */
export type StorageBound =
  { readonly quota: readonly string[] } | { readonly namespace: string } | { readonly none: string };

const quota = (...names: string[]): StorageBound => ({ quota: names });
const none = (why: string): StorageBound => ({ none: why });

const RATE = ['kilobytesPerMinute', 'kilobytesPerMinuteOfNamespace'];
const RUNS = quota(...RATE, 'queuedRuns', 'queuedRunsOfNamespace');
const REPLY = quota(...RATE);
const PUSH = quota('pushConfigs');
const CONTRACTS = quota('contracts', ...RATE);
const AGENTS = quota('agents', ...RATE);
const DEFINITIONS = quota('definitions');
const CHANGE = none('changes an object that exists');
const READ = none('stores nothing');
const OPERATOR = none('only operators and administrators, who set the quotas');

const A2A: Readonly<Record<string, StorageBound>> = {
  'POST {base}/message::send': RUNS,
  'POST {base}/message::stream': RUNS,
  'POST {base}/tasks/:id(^[^:/]+)::cancel': CHANGE,
  'POST {base}/tasks/:id(^[^:/]+)::subscribe': READ,
  'POST {base}/tasks/:id/pushNotificationConfigs': PUSH,
};
const BASES = ['/a2a', '/a2a/agents/:agentId', '/a2a/:tenant'];

/** Every POST, PUT and PATCH route. Add a new route here by hand, with the quota of what it stores. */
export const ROUTE_BOUNDS: Readonly<Record<string, StorageBound>> = {
  ...Object.fromEntries(
    BASES.flatMap((base) => Object.entries(A2A).map(([route, bound]) => [route.replace('{base}', base), bound])),
  ),
  'POST /ard/explore': READ,
  'POST /ard/search': READ,
  'POST /a2a': none('its operations are listed in OPERATION_BOUNDS'),
  'POST /a2a/agents/:agentId': none('its operations are listed in OPERATION_BOUNDS'),
  'POST /mcp': none('its tools are listed in TOOL_BOUNDS'),
  'POST /mcp/agents/:agentId': none('its tools are listed in TOOL_BOUNDS'),
  'POST /v1/agent-imports': AGENTS,
  'POST /v1/agents': AGENTS,
  'POST /v1/agents/:id/drain': CHANGE,
  'POST /v1/agents/:id/evict': CHANGE,
  'POST /v1/agents/:id/heartbeat': CHANGE,
  'POST /v1/agents/:id/outcomes': CHANGE,
  'POST /v1/agents/:id/probe': CHANGE,
  'POST /v1/agents/:id/quarantine': CHANGE,
  'POST /v1/agents/:id/resume': CHANGE,
  'POST /v1/agents/:id/tasks/:callId/progress': none('informs those who wait for the run'),
  'POST /v1/agents/:id/tasks/:callId/result': none('one result for each task, of at most 1 MB when it is stored'),
  'POST /v1/agents/:id/tasks/take': CHANGE,
  'POST /v1/agents/batch': AGENTS,
  'POST /v1/agents/query': CONTRACTS, // with prefer: contract-net, a query announces a contract
  'POST /v1/budgets': OPERATOR,
  'POST /v1/budgets/:id/adjust': CHANGE,
  'POST /v1/budgets/:id/topup': CHANGE,
  'POST /v1/budgets/reservations': quota('reservations', 'budgetShare'),
  'POST /v1/budgets/reservations/:key/release': CHANGE,
  'POST /v1/budgets/reservations/:key/renew': CHANGE,
  'POST /v1/budgets/reservations/:key/settle': CHANGE,
  'POST /v1/budgets/runs': REPLY,
  'POST /v1/contracts': CONTRACTS,
  'POST /v1/contracts/:id/bids': none('one bid of each invited agent'),
  'POST /v1/contracts/:id/cancel': CHANGE,
  'POST /v1/contracts/:id/confirm': CHANGE,
  'POST /v1/contracts/:id/outcome': CHANGE,
  'POST /v1/definition-imports': DEFINITIONS,
  'POST /v1/definitions': DEFINITIONS,
  'POST /v1/definitions/effective': READ,
  'POST /v1/events/tickets': none('a ticket lives for 30 seconds, so the rate of requests is its bound'),
  'POST /v1/heartbeats': CHANGE,
  'POST /v1/keys': { namespace: 'keys' },
  'POST /v1/keys/:id/rotate': { namespace: 'keys' },
  'POST /v1/namespaces': OPERATOR,
  'POST /v1/runs': RUNS,
  'POST /v1/runs/:id/approvals': REPLY,
  'POST /v1/runs/:id/cancel': CHANGE,
  'POST /v1/runs/:id/messages': REPLY,
  'POST /v1/runs/:id/retry': RUNS,
  'POST /v1/runtime/agents': quota('agents'),
  'POST /v1/runtime/shutdown': CHANGE,
  'POST /v1/sessions': none('a key has at most 100 sessions'),
  'POST /v1/sessions/tickets': none('a ticket lives for 60 seconds, so the rate of requests is its bound'),
  'POST /v1/sessions/tickets/exchange': none('a key has at most 100 sessions'),
  'POST /v1/sinks/:id/replay': CHANGE,
  'POST /v1/toolbox-imports': READ,
  'POST /v1/tools/pins/:server/:tool/accept': CHANGE,
  'POST /v1/webhooks': quota('webhooks'),
  'POST /v1/webhooks/:id/deliveries/:sequence/replay': CHANGE,
  'POST /v1/webhooks/:id/replay': CHANGE,
  'POST /v1/webhooks/:id/rotate': CHANGE,
  'PATCH /v1/agents/:id': quota(...RATE),
  'PATCH /v1/namespaces/:name': OPERATOR,
  'PATCH /v1/webhooks/:id': CHANGE,
  'PUT /v1/definitions/:name': DEFINITIONS,
  'PUT /v1/registry/protection': CHANGE,
};

/** Every operation of A2A over JSON-RPC. */
export const OPERATION_BOUNDS: Readonly<Record<string, StorageBound>> = {
  SendMessage: RUNS,
  SendStreamingMessage: RUNS,
  GetTask: READ,
  ListTasks: READ,
  CancelTask: CHANGE,
  SubscribeToTask: READ,
  CreateTaskPushNotificationConfig: PUSH,
  GetTaskPushNotificationConfig: READ,
  ListTaskPushNotificationConfigs: READ,
  DeleteTaskPushNotificationConfig: CHANGE,
  GetExtendedAgentCard: READ,
};

/** Every tool of the MCP server. */
export const TOOL_BOUNDS: Readonly<Record<string, StorageBound>> = {
  find_agents: READ,
  describe_agent: READ,
  run_agent: RUNS,
  get_run: READ,
  answer_run: REPLY,
  cancel_run: CHANGE,
  get_budgets: READ,
  create_agent: quota('agents'),
  list_agents: READ,
  shutdown_agent: CHANGE,
};
