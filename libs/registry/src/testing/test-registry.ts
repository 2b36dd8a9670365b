import type { Database } from '#rollcall/platform';
import { type TestEvents, testEvents } from '#rollcall/platform/testing';
import type { Registration } from '../agents/registration.js';
import { LiveRegistry, type LiveRegistryOptions } from '../agents/live.registry.js';
import { USUAL_CIRCUIT_POLICY } from '../circuit/circuit.breaker.js';
import { USUAL_FLAP_POLICY } from '../leases/flap.damping.js';
import { USUAL_LEASE_POLICY } from '../leases/lease.policy.js';
import { USUAL_PROTECTION_POLICY } from '../leases/protection.state.js';

export interface TestRegistry extends LiveRegistry {
  events: TestEvents;
}

const USUAL: LiveRegistryOptions = {
  lease: USUAL_LEASE_POLICY,
  protection: USUAL_PROTECTION_POLICY,
  circuit: USUAL_CIRCUIT_POLICY,
  flap: USUAL_FLAP_POLICY,
};

/** The registry of one replica on this database; nothing runs by itself. */
export function testRegistry(db: Database, options: Partial<LiveRegistryOptions> = {}): TestRegistry {
  const events = testEvents(db);
  return Object.assign(new LiveRegistry(db, events, { ...USUAL, ...options }), { events });
}

/** What a valid agent says of itself; tests say only what matters to them. */
export function aRegistration(wishes: Partial<Registration> = {}): Registration {
  return {
    name: 'swarm-builder',
    endpoint: 'http://localhost:5091',
    agentCard: null,
    capabilities: ['build'],
    sandboxLevel: 2,
    provider: { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' },
    budget: { totalTokens: 500_000, usedTokens: 0, source: 'langfuse' },
    costModel: { usdPerTask: 0, usdPer1kTokens: null },
    capacity: null,
    declaredMs: null,
    version: null,
    definition: null,
    labels: {},
    ...wishes,
  };
}
