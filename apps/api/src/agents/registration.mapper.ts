import { type Joined, type JoinRequest, type LeasePolicy, leaseTtlMs, type Registration } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { mayActForAll } from './agent.claim.js';
import type { RegistrationView } from './agent.view.js';
import type { RegisterBody } from './agents.dto.js';

export function toRegistrationView({ record, leaseToken }: Joined, lease: LeasePolicy): RegistrationView {
  const heartbeat = { intervalMs: lease.intervalMs, leaseMs: leaseTtlMs(lease) };
  return { agentId: record.agentId, generation: record.generation, leaseToken, heartbeat, agent: record };
}

export function toJoinRequest(body: RegisterBody, caller: Principal): JoinRequest {
  const { agentId = null, leaseToken = null, takeover } = body;
  const { namespace, owner: by } = caller;
  return {
    namespace,
    agentId,
    leaseToken,
    takeover,
    by,
    asOperator: mayActForAll(caller),
    facts: toRegistration(body),
  };
}

const UNKNOWN_PROVIDER = { adapter: 'unknown', type: 'unknown', plan: null };

/** Every optional field gets its default here. */
function toRegistration(body: RegisterBody): Registration {
  const { provider, budget, costModel } = body;
  return {
    name: body.name,
    endpoint: body.endpoint ?? null,
    agentCard: body.agentCard ?? null,
    capabilities: body.capabilities.map((text) => text.trim()),
    sandboxLevel: body.sandboxLevel ?? 0,
    provider: provider
      ? { adapter: provider.adapter, type: provider.type, plan: provider.plan ?? null }
      : UNKNOWN_PROVIDER,
    budget: {
      totalTokens: budget?.totalTokens ?? null,
      usedTokens: budget?.usedTokens ?? 0,
      source: budget?.source ?? 'reported',
    },
    costModel: { usdPerTask: costModel?.usdPerTask ?? null, usdPer1kTokens: costModel?.usdPer1kTokens ?? null },
    capacity: body.capacity ?? null,
    declaredMs: body.declaredMs ?? null,
    version: body.version ?? null,
    definition: null,
    labels: body.labels ?? {},
  };
}
