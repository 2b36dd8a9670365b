import { closestName } from '#rollcall/agent-runtime';
import { accountOf, PresetCatalog, ProviderError, resolveModel, VendorRegistry } from '#rollcall/providers';
import { CapabilityAliasError } from '#rollcall/registry';
import { mayFetchKeysFrom } from './access.settings.js';
import type { Config } from './config.schema.js';
import { aliasesOf } from './registry.settings.js';

/**
 * Checks settings that are valid alone but not together, or not with the constants. Each message names the setting to change, and
 * the reason. Errors that concern one of the `invalid` settings are left out, because their value is not known.
 */
export function constraintErrors(config: Config, invalid: readonly string[] = []): string[] {
  const errors = [
    ...presetErrors(config.models),
    ...timeoutErrors(config),
    ...programErrors(config),
    ...mcpErrors(config),
    ...oidcErrors(config),
    ...aliasErrors(config),
  ];
  return errors.filter((error) => !invalid.some((name) => error.includes(name)));
}

function timeoutErrors({ http, database, shutdown, registry }: Config): string[] {
  const rules: [boolean, string][] = [
    [
      database.operationTimeout < http.handlerTimeout,
      `database.operationTimeout (${database.operationTimeout}ms) must be shorter than the time limit of a request ` +
        `(${http.handlerTimeout}ms): otherwise requests end with 503 before the database can respond`,
    ],
    [
      database.operationTimeout >= 100,
      `database.operationTimeout (${database.operationTimeout}ms) must be at least 100ms`,
    ],
    [shutdown.timeout > 0, 'shutdown.timeout must be longer than 0s: otherwise requests in progress are aborted'],
    [
      registry.heartbeatEvery >= 2_000,
      `registry.heartbeatEvery (${registry.heartbeatEvery}ms) must be at least 2s: the eviction sweep runs once a second`,
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, error]) => error);
}

/** A program whose user is missing or cannot be used would fail at its first start. */
function programErrors({ providers: { programs, claude } }: Config): string[] {
  const users = Object.entries(programs).map(([name, { user }]) => ({
    user,
    setting: `providers.programs.${name}.user (ROLLCALL_PROGRAMS)`,
  }));
  if (Object.keys(claude).length > 0)
    users.push({ user: claude.user, setting: 'providers.claude.user (ROLLCALL_CLAUDE)' });
  return users.flatMap(({ user, setting }) => {
    try {
      accountOf(user);
      return [];
    } catch (error) {
      if (error instanceof ProviderError) return [`${setting}: ${error.message}`];
      throw error;
    }
  });
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
    .map(({ name, vendor }) => `models.presets.${name}: there is no vendor ${vendor}${meant(vendor, known)}`);
}

function meant(name: string, known: readonly string[]): string {
  const closest = closestName(name, known);
  return `${closest === undefined ? '' : `; did you mean ${closest}?`}; known: ${known.join(', ')}`;
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

/** Checks OpenID Connect settings that are valid alone, but not together or not safe. */
function oidcErrors({ auth }: Config): string[] {
  const errors: string[] = [];
  if (auth.oidcIssuer && !auth.oidcAudience) {
    errors.push(
      'auth.oidcAudience (ROLLCALL_OIDC_AUDIENCE) must be set with auth.oidcIssuer: otherwise tokens for other services are accepted',
    );
  }
  if (!auth.oidcIssuer && (auth.oidcAudience || auth.oidcJwksUri)) {
    errors.push('auth.oidcIssuer (ROLLCALL_OIDC_ISSUER) must be set for the other OIDC settings to have an effect');
  }
  const urls = { 'auth.oidcIssuer': auth.oidcIssuer, 'auth.oidcJwksUri': auth.oidcJwksUri };
  for (const [name, url] of Object.entries(urls)) {
    if (url === undefined || mayFetchKeysFrom(url, auth)) continue;
    errors.push(
      `${name} must begin with https: an attacker in the network can replace keys that are sent over plain http. ` +
        'In a trusted network, set auth.oidcPlainHttp (ROLLCALL_OIDC_PLAIN_HTTP) to allow',
    );
  }
  return errors;
}

function aliasErrors({ discovery }: Config): string[] {
  try {
    aliasesOf(discovery);
    return [];
  } catch (error) {
    if (error instanceof CapabilityAliasError)
      return [`discovery.aliases (ROLLCALL_CAPABILITY_ALIASES): ${error.message}`];
    throw error;
  }
}
