import { closestName } from '#rollcall/agent-runtime';
import { ConfigSchema } from './config.schema.js';
import { listSettings } from './setting.js';

/** Variables that clients read. They may be set in the shell that starts the server. */
const CLIENT_VARIABLES = [
  'ROLLCALL_URL',
  'ROLLCALL_KEY',
  'ROLLCALL_KEY_FILE',
  'ROLLCALL_CONTEXT',
  'ROLLCALL_NAMESPACE',
];

const PREFIX = 'ROLLCALL_';

/**
 * Warnings about variables that begin with ROLLCALL_ and are not settings: a setting that was removed, or a typing error. They are
 * warnings because other programs may use the same prefix; an unknown name in rollcall.yaml is an error.
 */
export function unknownVariables(names: readonly string[]): { name: string; warning: string }[] {
  const settings = listSettings(ConfigSchema).map((entry) => entry.env);
  const known = new Set([...settings, 'ROLLCALL_CONFIG', ...CLIENT_VARIABLES]);
  return names
    .filter((name) => name.startsWith(PREFIX) && !known.has(name))
    .map((name) => ({
      name,
      warning: removalOf(name) ?? `${name} is not a setting of Rollcall${suggestion(name, settings)}`,
    }));
}

/** The message about a setting, or a group of settings, that was removed, by its name in the environment or in rollcall.yaml. */
export function removalOf(name: string): string | undefined {
  const replacement = Object.entries(REPLACED).find(([, names]) => names.includes(name))?.[0];
  if (replacement !== undefined) return replacedBy(name, replacement);
  const isRemoved =
    Object.hasOwn(REMOVED, name) || Object.values(REMOVED).some((path) => `${path}.`.startsWith(`${name}.`));
  return isRemoved ? `${name} is no longer a setting: its value is fixed. Remove it (see CHANGELOG.md)` : undefined;
}

/**
 * Errors about variables that another setting replaces. They are no warnings: the operator still decides about the value, and
 * without it a limit, such as the hosts of `http_fetch`, would silently be gone.
 */
export function replacedVariables(names: readonly string[]): string[] {
  return Object.entries(REPLACED).flatMap(([replacement, old]) =>
    old.filter((name) => names.includes(name)).map((name) => replacedBy(name, replacement)),
  );
}

function replacedBy(name: string, replacement: string): string {
  return `${name} is no longer a setting: use ${replacement} instead (see CHANGELOG.md)`;
}

/** Compares the names without their prefix, so that `ROLLCALL_PORT` suggests `PORT`. */
function suggestion(name: string, settings: readonly string[]): string {
  const byName = new Map(settings.map((setting) => [withoutPrefix(setting), setting]));
  const closest = closestName(withoutPrefix(name), byName.keys());
  return closest === undefined ? '' : `; did you mean ${byName.get(closest)}?`;
}

function withoutPrefix(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}

/** The settings that another setting replaces, with their names in rollcall.yaml if these changed. */
const REPLACED: Record<string, string[]> = {
  'quotas (ROLLCALL_QUOTAS)': [
    'ROLLCALL_QUOTA_AGENTS',
    'ROLLCALL_QUOTA_RESERVATIONS',
    'ROLLCALL_QUOTA_WEBHOOKS',
    'ROLLCALL_QUOTA_CONTRACTS',
    'ROLLCALL_RUNS_MAX_QUEUED',
    'runtime.runs.maxQueued',
    'ROLLCALL_RUNS_MAX_QUEUED_PER_CREDENTIAL',
    'runtime.runs.maxQueuedPerCredential',
  ],
  'mcp.allowedHosts (ROLLCALL_MCP_ALLOWED_HOSTS)': ['ROLLCALL_MCP_ALLOWED_ORIGINS', 'mcp.allowedOrigins'],
  'runtime.tools.httpFetch (ROLLCALL_TOOLS_HTTP_FETCH)': [
    'ROLLCALL_TOOLS_HTTP_FETCH_HOSTS',
    'runtime.tools.httpFetchHosts',
  ],
};

/** The settings that became constants, with their names in rollcall.yaml. */
const REMOVED: Record<string, string> = {
  ROLLCALL_REQUEST_TIMEOUT: 'http.requestTimeout',
  ROLLCALL_HANDLER_TIMEOUT: 'http.handlerTimeout',
  ROLLCALL_CONCURRENT_WAITS: 'http.concurrentWaits',
  ROLLCALL_CONCURRENT_UNAUTHENTICATED: 'http.concurrentUnauthenticated',
  ROLLCALL_DATABASE_RESERVED_POOL_SIZE: 'database.reservedPoolSize',
  ROLLCALL_DATABASE_TRANSACTION_FACTOR: 'database.transactionFactor',
  ROLLCALL_DATABASE_SLOW_ROUND_TRIP: 'database.slowRoundTrip',
  ROLLCALL_DATABASE_CONNECT_WAIT: 'database.connectWait',
  ROLLCALL_IDEMPOTENCY_KEEP: 'idempotency.keep',
  ROLLCALL_OIDC_ALGORITHMS: 'auth.oidcAlgorithms',
  ROLLCALL_OIDC_GROUPS_CLAIM: 'auth.oidcGroupsClaim',
  ROLLCALL_EVENTS_KEEP_COUNT: 'events.keepCount',
  ROLLCALL_EVENTS_BUFFER: 'events.buffer',
  ROLLCALL_EVENTS_SLOW_AFTER: 'events.slowAfter',
  ROLLCALL_KEEP_LEFT_AGENTS: 'registry.keepLeft',
  ROLLCALL_KEEP_CONTRACTS: 'registry.keepContracts',
  ROLLCALL_DIRECTORY_STALE_AFTER: 'discovery.staleAfter',
  ROLLCALL_CIRCUIT_FAILURES: 'circuit.failures',
  ROLLCALL_CIRCUIT_COOL_DOWN: 'circuit.coolDown',
  ROLLCALL_CIRCUIT_BACK_OFF: 'circuit.backOff',
  ROLLCALL_CIRCUIT_LONGEST_COOL_DOWN: 'circuit.longestCoolDown',
  ROLLCALL_CIRCUIT_PROBE: 'circuit.probe',
  ROLLCALL_PROTECTION_PERCENT: 'protection.percent',
  ROLLCALL_PROTECTION_FEWEST: 'protection.fewest',
  ROLLCALL_PROTECTION_LONGEST: 'protection.longest',
  ROLLCALL_PROTECTION_EVICTIONS_PER_MINUTE: 'protection.evictionsPerMinute',
  ROLLCALL_FLAPPING_SUPPRESS_AT: 'flapping.suppressAt',
  ROLLCALL_FLAPPING_REUSE_BELOW: 'flapping.reuseBelow',
  ROLLCALL_FLAPPING_HALF_LIFE: 'flapping.halfLife',
  ROLLCALL_FLAPPING_LONGEST: 'flapping.longest',
  ROLLCALL_BUDGET_LOW_PERCENT: 'budgets.lowPercent',
  ROLLCALL_BUDGET_LOW_TOKENS: 'budgets.lowTokens',
  ROLLCALL_BUDGET_SETTLE_MULTIPLE: 'budgets.settleMultiple',
  ROLLCALL_BUDGET_LARGEST_RESERVATION_TOKENS: 'budgets.largestTokens',
  ROLLCALL_BUDGET_LARGEST_RESERVATION_MICRO_USD: 'budgets.largestMicroUsd',
  ROLLCALL_BUDGET_LONGEST_RESERVATION: 'budgets.longestReservation',
  ROLLCALL_BUDGET_RUN_DEPTH: 'budgets.runDepth',
  ROLLCALL_KEEP_RESERVATIONS: 'budgets.keepReservations',
  ROLLCALL_KEEP_RUN_BUDGETS: 'budgets.keepRuns',
  ROLLCALL_EGRESS_CHECK_TIMEOUT: 'egress.checkTimeout',
  ROLLCALL_TOOLS_TIMEOUT: 'runtime.tools.timeout',
  ROLLCALL_TOOLS_MAX_INPUT: 'runtime.tools.maxInput',
  ROLLCALL_TOOLS_MAX_OUTPUT: 'runtime.tools.maxOutput',
  ROLLCALL_AGENTS_STRICT: 'runtime.agentFiles.strict',
  ROLLCALL_AGENTS_IDLE_AFTER: 'runtime.lifecycle.idleAfter',
  ROLLCALL_AGENTS_DRAIN_TIMEOUT: 'runtime.lifecycle.drainTimeout',
  ROLLCALL_AGENTS_SHUTDOWN_TIMEOUT: 'runtime.lifecycle.shutdownTimeout',
  ROLLCALL_RUNTIME_MODEL_ATTEMPTS: 'runtime.modelAttempts',
  ROLLCALL_RUNTIME_MODEL_RETRY_DELAY: 'runtime.modelRetryDelay',
  ROLLCALL_RUNTIME_MAX_DEPTH: 'runtime.delegation.maxDepth',
  ROLLCALL_RUNTIME_MAX_WIDTH: 'runtime.delegation.maxWidth',
  ROLLCALL_RUNTIME_MAX_RUNS: 'runtime.delegation.maxRuns',
  ROLLCALL_RUNTIME_CHILD_TIMEOUT: 'runtime.delegation.childTimeout',
  ROLLCALL_RUNS_MAX_PER_AGENT: 'runtime.runs.maxPerAgent',
  ROLLCALL_RUNS_LEASE: 'runtime.runs.lease',
  ROLLCALL_RUNS_MAX_CRASHES: 'runtime.runs.maxCrashes',
  ROLLCALL_LANGFUSE_AGENT_FIELD: 'langfuse.agentField',
  ROLLCALL_MCP_WAIT: 'mcp.wait',
  ROLLCALL_MCP_SUBSCRIPTIONS: 'mcp.subscriptions',
  ROLLCALL_WEBHOOK_TRIES: 'webhooks.tries',
  ROLLCALL_WEBHOOK_RETRY_FIRST: 'webhooks.retryFirst',
  ROLLCALL_WEBHOOK_RETRY_LONGEST: 'webhooks.retryLongest',
  ROLLCALL_WEBHOOK_TIMEOUT: 'webhooks.timeout',
  ROLLCALL_WEBHOOK_KEEP_DELIVERIES: 'webhooks.keepDeliveries',
};
