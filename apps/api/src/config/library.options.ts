import type { PlatformOptions } from '#rollcall/platform';
import { EgressPolicy, LangfuseUsage, Secret } from '#rollcall/providers';
import type { BudgetSource, RegistryOptions } from '#rollcall/registry';
import { EVENTS } from '../events/event.catalog.js';
import type { Config } from './config.schema.js';
import { registryPolicies } from './registry.policies.js';

export function platformOptions({ events, webhooks }: Config, database: PlatformOptions['database']): PlatformOptions {
  return {
    database,
    catalog: EVENTS,
    events: { keepMs: events.keep, keepCount: events.keepCount },
    sinks: { keepDeliveriesMs: webhooks.keepDeliveries },
  };
}

export function registryOptions(config: Config): RegistryOptions {
  const { keepReservations, keepLedger, keepRuns } = config.budgets;
  return {
    ...registryPolicies(config),
    retention: {
      leftAgentsMs: config.registry.keepLeft,
      reservationsMs: keepReservations,
      linesMs: keepLedger,
      runsMs: keepRuns,
    },
    usage: { sources: usageSources(config), refreshEveryMs: config.langfuse.refreshEvery },
  };
}

function usageSources({ langfuse, egress, database }: Config): BudgetSource[] {
  const { baseUrl, publicKey, secretKey, agentField } = langfuse;
  if (publicKey === undefined || secretKey === undefined) return [];
  const policy = new EgressPolicy({ allow: egress.allow, allowLoopback: !database.url });
  return [new LangfuseUsage({ baseUrl, publicKey, secretKey: new Secret(secretKey), agentField, policy })];
}
