import { z } from 'zod';
import { INHERITANCE_MODES } from '#rollcall/agent-runtime';
import { duration, integer, setting } from './setting.js';

const SECOND = 1_000;
const MAX_TIMEOUT = 24 * 86_400_000;
const TIMEOUT_FORMAT = 'a duration from 1s to 24d, such as 10m';

const timeout = (fallback: string) => duration(fallback).refine((ms) => ms >= SECOND && ms <= MAX_TIMEOUT);

/** Limits of each run of an agent that Rollcall runs itself. */
export const execution = {
  runTimeout: setting(timeout('10m'), {
    env: 'ROLLCALL_RUNTIME_RUN_TIMEOUT',
    about: 'Time limit of a run of an agent, including all agents that it delegates to.',
    expects: TIMEOUT_FORMAT,
    defaultText: '10m',
  }),
  modelAttempts: setting(integer(1, 10, 3), {
    env: 'ROLLCALL_RUNTIME_MODEL_ATTEMPTS',
    about:
      'Maximum number of attempts of a model call that fails with a temporary error, including the first. Each attempt is charged.',
    expects: 'a number from 1 to 10',
  }),
  modelRetryDelay: setting(timeout('30s'), {
    env: 'ROLLCALL_RUNTIME_MODEL_RETRY_DELAY',
    about:
      'Longest delay before the next attempt. If a vendor asks for a longer delay, the call fails without another attempt.',
    expects: 'a duration from 1s to 24d, such as 30s',
    defaultText: '30s',
  }),
};

/** Limits of the tree of runs that delegation creates. */
export const delegation = z.strictObject({
  maxDepth: setting(integer(0, 32, 3), {
    env: 'ROLLCALL_RUNTIME_MAX_DEPTH',
    about: 'Levels of delegation below a run, if the definition of its agent does not set `maxDelegationDepth`.',
    expects: 'a number from 0 to 32',
  }),
  maxWidth: setting(integer(1, 1_000, 8), {
    env: 'ROLLCALL_RUNTIME_MAX_WIDTH',
    about: 'Delegated runs that one run may have in progress at a time.',
    expects: 'a number from 1 to 1000',
  }),
  maxRuns: setting(integer(0, 10_000, 50), {
    env: 'ROLLCALL_RUNTIME_MAX_RUNS',
    about: 'Delegated runs of a whole tree, on all levels together.',
    expects: 'a number from 0 to 10000',
  }),
  childTimeout: setting(timeout('10m'), {
    env: 'ROLLCALL_RUNTIME_CHILD_TIMEOUT',
    about: 'Time limit of each delegated run. The time limit of the run that delegates also applies.',
    expects: TIMEOUT_FORMAT,
    defaultText: '10m',
  }),
  inheritTools: setting(z.enum(INHERITANCE_MODES).default('union'), {
    env: 'ROLLCALL_RUNTIME_INHERIT_TOOLS',
    about:
      'Tools of a delegated agent: its own and those of its parent (`union`), only its own (`off`), or only those of its own that its parent may also use (`intersection`). A definition can choose a stricter mode.',
    expects: INHERITANCE_MODES.join(', '),
  }),
});
