import { PresetCatalog, ProviderError, resolveModel, VendorRegistry } from '#rollcall/providers';
import type { Config } from './config.schema.js';
import { oidcErrors } from './oidc.constraints.js';
import { registryErrors } from './registry.constraints.js';

/** Checks settings that are valid alone but not together. Each message names the setting to change, and the reason. */
export function constraintErrors(config: Config): string[] {
  const { http, database, shutdown, models } = config;
  const errors = presetErrors(models);
  if (database.operationTimeout >= http.handlerTimeout) {
    errors.push(
      `database.operationTimeout (${database.operationTimeout}ms) must be shorter than http.handlerTimeout ` +
        `(${http.handlerTimeout}ms): otherwise requests end with 503 before the database can respond`,
    );
  }
  if (http.handlerTimeout > http.requestTimeout) {
    errors.push(
      `http.handlerTimeout (${http.handlerTimeout}ms) must not be longer than http.requestTimeout (${http.requestTimeout}ms)`,
    );
  }
  if (database.operationTimeout < 100) {
    errors.push(`database.operationTimeout (${database.operationTimeout}ms) must be at least 100ms`);
  }
  if (shutdown.timeout === 0)
    errors.push('shutdown.timeout must be longer than 0s: otherwise requests in progress are aborted');
  return [...errors, ...mcpErrors(config), ...oidcErrors(config), ...registryErrors(config)];
}

function mcpErrors({ runtime, providers }: Config): string[] {
  return Object.entries(runtime.mcpServers)
    .filter(([, server]) => 'program' in server && !Object.hasOwn(providers.programs, server.program))
    .map(
      ([name]) =>
        `runtime.mcpServers.${name}: its program is not in providers.programs (ROLLCALL_PROGRAMS); add it there`,
    );
}

/** Reports a preset with an unknown vendor at the start instead of at its first call. */
function vendorErrors(presets: PresetCatalog): string[] {
  const vendors = VendorRegistry.withAll();
  const known = vendors.list().map(({ name }) => name);
  return presets
    .list()
    .filter(({ vendor }) => !vendors.has(vendor))
    .map(({ name, vendor }) => `models.presets.${name}: there is no vendor ${vendor}; known: ${known.join(', ')}`);
}

function presetErrors(models: Config['models']): string[] {
  try {
    const presets = new PresetCatalog(models);
    resolveModel(null, presets);
    return vendorErrors(presets);
  } catch (error) {
    if (error instanceof ProviderError) return [`models (ROLLCALL_MODELS): ${error.message}`];
    throw error;
  }
}
