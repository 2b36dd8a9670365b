import type { Registration } from '#rollcall/registry';
import type { RegisterBody } from './agents.dto.js';

const UNKNOWN_PROVIDER = { adapter: 'unknown', type: 'unknown', plan: null };

/** Everything that may be left out gets its default here, in one place. */
export function toRegistration(body: RegisterBody): Registration {
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
