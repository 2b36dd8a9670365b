import { PresetBook, type Secret, type SecretSource } from '#rollcall/providers';
import type { Config } from '../config/config.schema.js';

/**
 * Which of the environment's keys may be used for what. Definitions come from many hands and name keys; so a key is given
 * out only for the purpose, and only towards the address, that the operator has written down.
 */
export class Keyring {
  private readonly modelKeys: ReadonlySet<string | undefined>;

  constructor(
    private readonly find: SecretSource,
    private readonly config: Pick<Config, 'models' | 'providers'>,
  ) {
    this.modelKeys = keysOf(config.models);
  }

  readonly forModels: SecretSource = (name) => (this.modelKeys.has(name) ? this.find(name) : undefined);

  /** Towards an agent's address: those of `providers.credentials`, each to its own origins. */
  readonly forAgents: SecretSource = (name, origin): Secret | undefined => {
    const { credentials } = this.config.providers;
    const origins = Object.hasOwn(credentials, name) ? (credentials[name] ?? []) : [];
    return origin !== undefined && origins.includes(origin) ? this.find(name) : undefined;
  };

  readonly forPrograms: SecretSource = (name) => {
    const programs = Object.values(this.config.providers.programs);
    return programs.some(({ secretEnv = [] }) => secretEnv.includes(name)) ? this.find(name) : undefined;
  };

  readonly forClaude: SecretSource = (name) => (name === 'ANTHROPIC_API_KEY' ? this.find(name) : undefined);
}

/** The variables that presets and vendors name. */
function keysOf(models: Config['models']): Set<string | undefined> {
  const book = new PresetBook(models);
  const vendors = ['anthropic', 'openai', ...Object.keys(models.vendors ?? {})];
  return new Set([...book.list(), ...vendors.map((vendor) => book.connectionOf(vendor))].map(({ keyEnv }) => keyEnv));
}
