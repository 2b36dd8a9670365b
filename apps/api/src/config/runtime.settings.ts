import { z } from 'zod';
import { HTTP_FETCH_MODES } from '#rollcall/agent-runtime';
import { McpServersSchema } from '#rollcall/providers';
import { delegation, execution } from './execution.settings.js';
import { agentFiles } from './agents.settings.js';
import { skills } from './skills.settings.js';
import { byteSize, DURATION_FORMAT, duration, integer, json, list, setting } from './setting.js';

const HOST = /^(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

const tools = z.strictObject({
  off: setting(list([]), {
    env: 'ROLLCALL_TOOLS_OFF',
    about: 'Toolboxes that no agent may use, such as `memory` (see `GET /v1/tools`).',
    expects: 'names of toolboxes separated by commas',
    defaultText: 'none',
  }),
  httpFetch: setting(z.enum(HTTP_FETCH_MODES).default('off'), {
    env: 'ROLLCALL_TOOLS_HTTP_FETCH',
    about:
      'Whether agents may use the tool `http_fetch`: `read` allows GET and HEAD, `write` also POST. A model can send anything that it has read to the hosts that it may call.',
    expects: HTTP_FETCH_MODES.join(', '),
  }),
  httpFetchHosts: setting(
    list([]).refine((hosts) => hosts.every((host) => HOST.test(host))),
    {
      env: 'ROLLCALL_TOOLS_HTTP_FETCH_HOSTS',
      about:
        'Hosts that `http_fetch` may call. If the list is empty, it may call all public hosts and the networks of `egress.allow`.',
      expects: 'host names separated by commas, such as api.example.com or *.example.com',
      defaultText: 'all',
    },
  ),
  timeout: setting(duration('60s'), {
    env: 'ROLLCALL_TOOLS_TIMEOUT',
    about: 'Time limit of a tool call, for tools without a limit of their own.',
    expects: DURATION_FORMAT,
    defaultText: '60s',
  }),
  maxInput: setting(byteSize('256KB'), {
    env: 'ROLLCALL_TOOLS_MAX_INPUT',
    about: 'Largest input of a tool call. A model that sends more is asked to send less.',
    expects: 'a size such as 256KB',
    defaultText: '256KB',
  }),
  maxOutput: setting(integer(1_000, 1_000_000, 50_000), {
    env: 'ROLLCALL_TOOLS_MAX_OUTPUT',
    about: 'Longest output of a tool call that a model receives, in characters. A longer output is cut.',
    expects: 'a number of characters from 1000 to 1000000',
  }),
});

const lifecycle = z.strictObject({
  idleAfter: setting(duration('15m'), {
    env: 'ROLLCALL_AGENTS_IDLE_AFTER',
    about:
      'An agent without calls releases its resources after this time. It stays listed, and its next call builds it again.',
    expects: DURATION_FORMAT,
    defaultText: '15m',
  }),
  drainTimeout: setting(duration('10m'), {
    env: 'ROLLCALL_AGENTS_DRAIN_TIMEOUT',
    about: 'How long calls in progress may continue on the old revision of a definition.',
    expects: DURATION_FORMAT,
    defaultText: '10m',
  }),
  shutdownTimeout: setting(duration('10s'), {
    env: 'ROLLCALL_AGENTS_SHUTDOWN_TIMEOUT',
    about:
      'How long the shutdown of agents may take. Agents that have not ended after this time are abandoned. The limit is never longer than 80 % of `http.handlerTimeout` or, when the process stops, half of `shutdown.timeout`.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
});

const runs = z.strictObject({
  lease: setting(duration('15s'), {
    env: 'ROLLCALL_RUNS_LEASE',
    about:
      'How long a replica may execute a run without renewing its lease on the run. When a replica dies, others continue its runs after this time.',
    expects: DURATION_FORMAT,
    defaultText: '15s',
  }),
  max: setting(integer(0, 10_000, 64), {
    env: 'ROLLCALL_RUNS_MAX',
    about: 'How many runs this replica executes at a time. Further runs wait. With 0, it executes none.',
    expects: 'a number from 0 to 10000',
  }),
  maxPerAgent: setting(integer(1, 10_000, 32), {
    env: 'ROLLCALL_RUNS_MAX_PER_AGENT',
    about: 'How many runs of one agent this replica executes at a time.',
    expects: 'a number from 1 to 10000',
  }),
  maxQueued: setting(integer(0, 1_000_000, 10_000), {
    env: 'ROLLCALL_RUNS_MAX_QUEUED',
    about:
      'How many runs of one namespace may be queued at a time, on all replicas together. A start above this number is rejected with `RUN_QUEUE_FULL`. `0` disables the limit.',
    expects: 'a number from 0 to 1000000',
  }),
  maxQueuedPerCredential: setting(integer(0, 1_000_000, 2_000), {
    env: 'ROLLCALL_RUNS_MAX_QUEUED_PER_CREDENTIAL',
    about: 'How many runs of one credential may be queued at a time in each namespace. `0` disables the limit.',
    expects: 'a number from 0 to 1000000',
  }),
  maxCrashes: setting(integer(1, 10, 2), {
    env: 'ROLLCALL_RUNS_MAX_CRASHES',
    about:
      'How many replicas may crash or lose their lease in the same step of a run. Then the run waits for a review, so that it does not crash further replicas.',
    expects: 'a number from 1 to 10',
  }),
  keep: setting(duration('30d'), {
    env: 'ROLLCALL_RUNS_KEEP',
    about: 'How long finished runs and their steps are kept.',
    expects: DURATION_FORMAT,
    defaultText: '30d',
  }),
  redactAfter: setting(z.union([z.literal('off').transform(() => null), duration('')]).default(null), {
    env: 'ROLLCALL_RUNS_REDACT_AFTER',
    about:
      'How long after the end of a run its contents are removed: inputs, answers, texts of models, and arguments and results of tools. The run, its usage and the kinds of its steps stay. The setting also applies to runs that have already finished.',
    expects: `off, or ${DURATION_FORMAT}`,
    defaultText: 'off',
  }),
});

/** The agents that Rollcall runs itself. */
export const runtime = z.strictObject({
  tools: tools.prefault({}),
  lifecycle: lifecycle.prefault({}),
  skills,
  ...execution,
  delegation: delegation.prefault({}),
  agentFiles: agentFiles.prefault({}),
  runs: runs.prefault({}),
  mcpServers: setting(json().pipe(McpServersSchema).default({}), {
    env: 'ROLLCALL_MCP_SERVERS',
    about:
      'MCP servers whose tools agents may use, by name (see runtime/mcp.md). In the environment: one line of JSON.',
    expects:
      'servers by name, such as {"files": {"program": "files"}} or {"docs": {"url": "https://docs.example/mcp"}}',
    defaultText: 'none',
  }),
});
