import { z } from 'zod';
import { providers } from '../providers/providers.config.js';
import { a2a } from './a2a.settings.js';
import { agent, agents } from './agents.settings.js';
import { auth } from './auth.settings.js';
import { budgets, langfuse } from './budget.settings.js';
import { catalog } from './catalog.settings.js';
import { data, database } from './database.settings.js';
import { egress } from './egress.settings.js';
import { events } from './events.settings.js';
import { http, idempotency } from './http.settings.js';
import { mcp } from './mcp.settings.js';
import { models } from './models.settings.js';
import { log, shutdown } from './process.settings.js';
import { quotas } from './quota.settings.js';
import { circuit, discovery, flapping, protection, registry } from './registry.settings.js';
import { runtime } from './runtime.settings.js';
import { natsConfig, webhooksConfig } from './sinks.config.js';

export const ConfigSchema = z.strictObject({
  http: http.prefault({}),
  database: database.prefault({}),
  data: data.prefault({}),
  auth: auth.prefault({}),
  log: log.prefault({}),
  shutdown: shutdown.prefault({}),
  idempotency: idempotency.prefault({}),
  models,
  events: events.prefault({}),
  registry: registry.prefault({}),
  discovery: discovery.prefault({}),
  circuit: circuit.prefault({}),
  protection: protection.prefault({}),
  flapping: flapping.prefault({}),
  budgets: budgets.prefault({}),
  quotas: quotas.prefault({}),
  langfuse: langfuse.prefault({}),
  egress: egress.prefault({}),
  providers: providers.prefault({}),
  runtime: runtime.prefault({}),
  a2a: a2a.prefault({}),
  mcp: mcp.prefault({}),
  catalog: catalog.prefault({}),
  agents,
  agent,
  webhooks: webhooksConfig.prefault({}),
  nats: natsConfig.prefault({}),
});

export type Config = z.infer<typeof ConfigSchema>;
