import { PresetCatalog, ProviderError, resolveModel, VendorRegistry } from '#rollcall/providers';
import type { Config } from './config.schema.js';
import { oidcFaults } from './oidc.relations.js';
import { registryFaults } from './registry.relations.js';

/** Settings that are each right but do not fit together. Every message says which to change, and why. */
export function relationFaults(config: Config): string[] {
  const { http, database, shutdown, models } = config;
  const faults = presetFaults(models);
  if (database.operationTimeout >= http.handlerTimeout) {
    faults.push(
      `database.operationTimeout (${database.operationTimeout}ms) must be shorter than http.handlerTimeout ` +
        `(${http.handlerTimeout}ms): requests would be cut off before the database could answer`,
    );
  }
  if (http.handlerTimeout > http.requestTimeout) {
    faults.push(
      `http.handlerTimeout (${http.handlerTimeout}ms) must not be longer than http.requestTimeout (${http.requestTimeout}ms)`,
    );
  }
  if (database.operationTimeout < 100) {
    faults.push(`database.operationTimeout (${database.operationTimeout}ms) must be at least 100ms`);
  }
  if (shutdown.timeout === 0)
    faults.push('shutdown.timeout must be longer than 0s: requests under way would be cut off');
  return [...faults, ...oidcFaults(config), ...registryFaults(config)];
}

/** A preset whose vendor nobody knows would fail at its first call; here it is told at once. */
function vendorFaults(book: PresetCatalog): string[] {
  const vendors = VendorRegistry.withAll();
  const known = vendors.list().map(({ name }) => name);
  return book
    .list()
    .filter(({ vendor }) => !vendors.has(vendor))
    .map(({ name, vendor }) => `models.presets.${name}: there is no vendor ${vendor}; known: ${known.join(', ')}`);
}

function presetFaults(models: Config['models']): string[] {
  try {
    const book = new PresetCatalog(models);
    resolveModel(null, book);
    return vendorFaults(book);
  } catch (error) {
    if (error instanceof ProviderError) return [`models (ROLLCALL_MODELS): ${error.message}`];
    throw error;
  }
}
