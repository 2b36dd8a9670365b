import { CapabilityAliasError, flapPolicyFaults } from '#rollcall/registry';
import type { Config } from './config.schema.js';
import { directoryOptions, flapPolicy } from './registry.policies.js';

/** A new registration, or a replica that reads `agent.left`, needs the row of the agent that has left. Both need it for a shorter time. */
const MIN_HISTORY_MS = 15 * 60_000;

/** Checks settings of the registry that are valid alone but not together. */
export function registryErrors(config: Config): string[] {
  const { registry, circuit, flapping, discovery } = config;
  const rules: [boolean, string][] = [
    [
      registry.heartbeatEvery >= 2_000,
      `registry.heartbeatEvery (${registry.heartbeatEvery}ms) must be at least 2s: the eviction sweep runs once a second`,
    ],
    [
      registry.keepLeft >= MIN_HISTORY_MS,
      `registry.keepLeft (${registry.keepLeft}ms) must be at least 15m: a replica that reads ` +
        '`agent.left` late must still find the record of the agent',
    ],
    [
      discovery.staleAfter >= 2_000,
      `discovery.staleAfter (${discovery.staleAfter}ms) must be at least 2s: a replica reads the event log once a second`,
    ],
    [circuit.coolDown > 0, 'circuit.coolDown must be longer than 0s: otherwise an open circuit rejects no call'],
    [
      circuit.longestCoolDown >= circuit.coolDown,
      `circuit.longestCoolDown (${circuit.longestCoolDown}ms) must not be shorter than circuit.coolDown ` +
        `(${circuit.coolDown}ms): the first cool-down would exceed the limit`,
    ],
    [circuit.probe > 0, 'circuit.probe must be longer than 0s: otherwise no caller can hold the probe'],
    [flapping.halfLife > 0, 'flapping.halfLife must be longer than 0s: otherwise the penalty is always 0'],
    [
      flapping.reuseBelow < flapping.suppressAt,
      `flapping.reuseBelow (${flapping.reuseBelow}) must be less than flapping.suppressAt (${flapping.suppressAt}): ` +
        'otherwise agents are suppressed and listed again immediately',
    ],
  ];
  const errors = rules.filter(([holds]) => !holds).map(([, error]) => error);
  if (errors.length === 0 && flapPolicyFaults(flapPolicy(config)).length > 0) {
    errors.push(
      `flapping.longest (${flapping.longest}ms) is too short: the penalty halves every flapping.halfLife ` +
        `(${flapping.halfLife}ms), and within flapping.longest it must fall from flapping.suppressAt ` +
        `(${flapping.suppressAt}) to flapping.reuseBelow (${flapping.reuseBelow}); otherwise no agent is ever suppressed`,
    );
  }
  return [...errors, ...aliasErrors(config)];
}

function aliasErrors(config: Config): string[] {
  try {
    directoryOptions(config);
    return [];
  } catch (error) {
    if (error instanceof CapabilityAliasError)
      return [`discovery.aliases (ROLLCALL_CAPABILITY_ALIASES): ${error.message}`];
    throw error;
  }
}
