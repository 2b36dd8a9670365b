import { z } from 'zod';
import { auth, quotas } from './access.settings.js';
import type { Constants } from './config.constants.js';
import { data, database } from './database.settings.js';
import { a2a, catalog, langfuse, mcp, nats } from './integration.settings.js';
import { budgets, discovery, events, registry } from './registry.settings.js';
import { http, log, shutdown } from './server.settings.js';
import { agent, agents, egress, modelPrices, models, plugins, providers, runtime } from './agents.settings.js';

/** All settings, in the order of the documentation. The keys are those of rollcall.yaml. */
export const ConfigSchema = z.strictObject({
  http: http.prefault({}),
  log: log.prefault({}),
  shutdown: shutdown.prefault({}),
  database: database.prefault({}),
  data: data.prefault({}),
  auth: auth.prefault({}),
  quotas,
  models,
  modelPrices,
  agents,
  agent,
  runtime: runtime.prefault({}),
  providers: providers.prefault({}),
  plugins,
  egress: egress.prefault({}),
  registry: registry.prefault({}),
  discovery: discovery.prefault({}),
  events: events.prefault({}),
  budgets: budgets.prefault({}),
  langfuse: langfuse.prefault({}),
  a2a: a2a.prefault({}),
  mcp: mcp.prefault({}),
  catalog: catalog.prefault({}),
  nats: nats.prefault({}),
});

/** What operators decide (`ConfigSchema`), and what we decided (`CONSTANTS`). */
export type Config = z.infer<typeof ConfigSchema> & Constants;
