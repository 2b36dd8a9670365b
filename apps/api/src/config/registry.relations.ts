import { CapabilityAliasError, flapPolicyFaults } from '#rollcall/registry';
import type { Config } from './config.schema.js';
import { directoryOptions, flapPolicy } from './registry.policies.js';

/** Far longer than a registration or the news of one may take: both look at the row of an agent that has left. */
const SHORTEST_HISTORY_MS = 15 * 60_000;

/** Settings of the live registry that are each right but do not fit together. */
export function registryFaults(config: Config): string[] {
  const { registry, circuit, flapping, discovery } = config;
  const rules: [boolean, string][] = [
    [
      registry.heartbeatEvery >= 2_000,
      `registry.heartbeatEvery (${registry.heartbeatEvery}ms) must be at least 2s: the sweep looks once a second`,
    ],
    [
      registry.keepLeft >= SHORTEST_HISTORY_MS,
      `registry.keepLeft (${registry.keepLeft}ms) must be at least 15m: replicas that are slow to hear that an agent ` +
        'left must still find its record',
    ],
    [
      discovery.staleAfter >= 2_000,
      `discovery.staleAfter (${discovery.staleAfter}ms) must be at least 2s: a replica looks at the log once a second`,
    ],
    [circuit.coolDown > 0, 'circuit.coolDown must be longer than 0s: an open circuit would let everybody through'],
    [
      circuit.longestCoolDown >= circuit.coolDown,
      `circuit.longestCoolDown (${circuit.longestCoolDown}ms) must not be shorter than circuit.coolDown ` +
        `(${circuit.coolDown}ms): the first cool-down would already be too long`,
    ],
    [circuit.probe > 0, 'circuit.probe must be longer than 0s: nobody could hold the probe'],
    [flapping.halfLife > 0, 'flapping.halfLife must be longer than 0s: nothing would ever count'],
    [
      flapping.reuseBelow < flapping.suppressAt,
      `flapping.reuseBelow (${flapping.reuseBelow}) must be less than flapping.suppressAt (${flapping.suppressAt}): ` +
        'agents would be kept out and let in at once',
    ],
  ];
  const faults = rules.filter(([holds]) => !holds).map(([, fault]) => fault);
  if (faults.length === 0 && flapPolicyFaults(flapPolicy(config)).length > 0) {
    faults.push(
      `flapping.longest (${flapping.longest}ms) is too short: what counts would have to heal from flapping.suppressAt ` +
        `(${flapping.suppressAt}) to flapping.reuseBelow (${flapping.reuseBelow}) in that time, halving every ` +
        `flapping.halfLife (${flapping.halfLife}ms), so that nobody could ever be kept out`,
    );
  }
  return [...faults, ...aliasFaults(config)];
}

function aliasFaults(config: Config): string[] {
  try {
    directoryOptions(config);
    return [];
  } catch (error) {
    if (error instanceof CapabilityAliasError)
      return [`discovery.aliases (ROLLCALL_CAPABILITY_ALIASES): ${error.message}`];
    throw error;
  }
}
