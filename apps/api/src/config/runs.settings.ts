import { z } from 'zod';
import { INHERITANCE_MODES } from '#rollcall/agent-runtime';
import { agentFiles, mcpServers, skills, tools } from './agents.settings.js';
import { DURATION_FORMAT, duration, integer, setting } from './setting.js';

const SECOND = 1_000;
const MAX_TIMEOUT = 24 * 86_400_000;
const TIMEOUT_FORMAT = 'a duration from 1s to 24d, such as 10m';

const timeout = (fallback: string) => duration(fallback).refine((ms) => ms >= SECOND && ms <= MAX_TIMEOUT);

const delegation = z.strictObject({
  inheritTools: setting(z.enum(INHERITANCE_MODES).default('union'), {
    env: 'ROLLCALL_RUNTIME_INHERIT_TOOLS',
    about:
      'Tools of a delegated agent: its own and those of its parent (`union`), only its own (`off`), or only those of its own that its parent may also use (`intersection`). A definition can choose a stricter mode.',
    expects: INHERITANCE_MODES.join(', '),
  }),
});

const runs = z.strictObject({
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
  skills,
  runTimeout: setting(timeout('10m'), {
    env: 'ROLLCALL_RUNTIME_RUN_TIMEOUT',
    about: 'Time limit of a run of an agent, including all agents that it delegates to.',
    expects: TIMEOUT_FORMAT,
    defaultText: '10m',
  }),
  delegation: delegation.prefault({}),
  agentFiles: agentFiles.prefault({}),
  runs: runs.prefault({}),
  mcpServers,
});
