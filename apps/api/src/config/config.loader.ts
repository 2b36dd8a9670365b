import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { type Document, parseDocument } from 'yaml';
import type { z } from 'zod';
import { MODEL_VARIABLES, type ModelsConfig, presetsOfKeys, Secret, type SecretSource } from '#rollcall/providers';
import { DEMO_MODELS } from './agents.settings.js';
import { type ConstantChanges, CONSTANTS } from './config.constants.js';
import { constraintErrors } from './config.constraints.js';
import { ConfigSchema, type Config } from './config.schema.js';
import { readPriceList } from './model.prices.js';
import { EXPLAINED, listSettings, type SettingEntry } from './setting.js';
import { removalOf, replacedVariables } from './unknown.settings.js';

type Tree = Record<string, unknown>;
type Environment = Record<string, string | undefined>;

const CONFIG_FILE = 'rollcall.yaml';

/** Lists all errors of the configuration, so that they can be corrected at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly errors: string[]) {
    super(
      `The configuration has ${errors.length === 1 ? 'an error' : `${errors.length} errors`}:\n  - ${errors.join('\n  - ')}`,
    );
  }
}

/**
 * Merges the sources of the settings in this order of precedence: defaults < rollcall.yaml < .env < environment. No other code
 * reads them. The result also contains the constants.
 */
export function loadConfig(environment: Environment, folder: string, changes: ConstantChanges = {}): Config {
  const constants = merged(CONSTANTS, changes, Infinity);
  const complete = (data: z.infer<typeof ConfigSchema>): Config => merged(constants, data, Infinity) as Config;
  const settings = listSettings(ConfigSchema);
  const file = readEnvFile(folder);
  const env = { ...file, ...environment };
  const tree = readYaml(folder, env['ROLLCALL_CONFIG']);
  for (const entry of settings) {
    const layers = entry.mergedLevels === undefined ? [env] : [file, environment];
    for (const layer of layers) overlay(tree, entry, layer[entry.env]);
  }
  tree['models'] ??= modelsOfKeys(env, tree);
  const replaced = replacedVariables(variableNames(environment, folder));
  const parsed = ConfigSchema.safeParse(tree);
  if (!parsed.success) {
    const errors = new Set(parsed.error.issues.flatMap((issue) => explain(issue, settings, tree)));
    const rest = withoutInvalid(tree, parsed.error.issues);
    throw new ConfigError([
      ...replaced,
      ...errors,
      ...(rest.data ? constraintErrors(complete(rest.data), rest.invalid) : []),
    ]);
  }
  const config = complete(parsed.data);
  const errors = [...replaced, ...constraintErrors(config)];
  if (errors.length > 0) throw new ConfigError(errors);
  return deepFreeze(config);
}

/**
 * Without `models`, each vendor with a key in the environment has presets (N-9). The model without a key stays available. A price list that
 * cannot be read is reported by its own setting.
 */
function modelsOfKeys(env: Environment, { modelPrices }: Tree): ModelsConfig | undefined {
  if (!MODEL_VARIABLES.some((name) => env[name])) return undefined;
  try {
    const models = presetsOfKeys(env, readPriceList(typeof modelPrices === 'string' ? modelPrices : ''));
    return models && { ...models, presets: { ...DEMO_MODELS.presets, ...models.presets } };
  } catch {
    return undefined; // `modelPrices` has an error
  }
}

/** Reads secrets from the environment by name. The Keyring decides which names may be read. */
export function environmentSecrets(environment: Environment, folder: string): SecretSource {
  const env = { ...readEnvFile(folder), ...environment };
  return (name) => (env[name] ? new Secret(env[name]) : undefined);
}

/** The variables that the environment or `.env` sets, for warnings about names that are no settings. */
export function variableNames(environment: Environment, folder: string): string[] {
  return Object.entries({ ...readEnvFile(folder), ...environment })
    .filter(([, value]) => value !== '')
    .map(([name]) => name);
}

function readEnvFile(folder: string): Environment {
  const file = resolve(folder, '.env');
  return existsSync(file) ? parseEnv(readText(file)) : {};
}

function readYaml(folder: string, chosen: string | undefined): Tree {
  const file = resolve(folder, chosen || CONFIG_FILE);
  if (!existsSync(file)) {
    if (chosen) throw new ConfigError([`ROLLCALL_CONFIG names ${file}, which does not exist`]);
    return {};
  }
  const document = parseDocument(readText(file), { prettyErrors: true });
  if (document.errors.length > 0)
    throw new ConfigError(document.errors.map((error) => `${file}: ${error.message.trim()}`));
  const tree: unknown = toPlain(document, file) ?? {};
  if (!isTree(tree)) throw new ConfigError([`${file}: expected settings such as "http:", got ${typeof tree}`]);
  return tree;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError([code === 'EISDIR' ? `${file} is a folder, not a file` : `${file} cannot be read (${code})`]);
  }
}

/** The parser resolves YAML aliases only in this step. It throws when an alias is undefined or expands to too many nodes. */
function toPlain(document: Document.Parsed, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ConfigError([`${file}: ${(error as Error).message}`]);
  }
}

/** The valid settings, for the constraints between them. An invalid setting already has an error of its own. */
function withoutInvalid(
  tree: Tree,
  issues: z.core.$ZodIssue[],
): { data?: z.infer<typeof ConfigSchema>; invalid: string[] } {
  const invalid = issues.flatMap((issue) => {
    const path = issue.path.map(String);
    return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path.slice(0, 2)];
  });
  for (const path of invalid) remove(tree, path);
  return { data: ConfigSchema.safeParse(tree).data, invalid: invalid.map((path) => path.join('.')) };
}

function remove(tree: Tree, path: string[]): void {
  const branch = valueAt(tree, path.slice(0, -1));
  if (isTree(branch)) delete branch[path.at(-1) ?? ''];
}

/** An empty variable counts as not set, because compose files often pass empty variables. */
function overlay(tree: Tree, entry: SettingEntry, value: string | undefined): void {
  if (value === undefined || value === '') return;
  let branch = tree;
  for (const key of entry.path.slice(0, -1)) {
    if (!isTree(branch[key])) branch[key] = {};
    branch = branch[key] as Tree;
  }
  const key = entry.path.at(-1) ?? '';
  branch[key] =
    entry.mergedLevels === undefined
      ? value
      : merged(branch[key], (entry.parse ?? parsedJson)(value), entry.mergedLevels);
}

/** Text that is not JSON is kept, so that the schema reports it. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Returns the members of both values. Members with the same key are merged while levels are left; otherwise the later one is used. */
function merged(earlier: unknown, later: unknown, levels: number): unknown {
  if (levels === 0 || !isTree(earlier) || !isTree(later)) return later;
  const both = Object.entries(later).map(([key, value]) => {
    const own = Object.hasOwn(earlier, key) ? earlier[key] : undefined;
    return [key, merged(own, value, levels - 1)] as const;
  });
  return { ...earlier, ...Object.fromEntries(both) };
}

function explain(issue: z.core.$ZodIssue, settings: SettingEntry[], tree: Tree): string[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const name = [...path, key].join('.');
      return removalOf(name) ?? `${name} is not a setting${knownNames(path, settings)}`;
    });
  }
  const entry = settings.find((candidate) => candidate.path.every((key, index) => key === path[index]));
  if (!entry) return [`${path.join('.')}: expected a group of settings${knownNames(path, settings)}`];
  if (issue.code === 'custom' && issue.params === EXPLAINED)
    return [`${entry.path.join('.')} (${entry.env}): ${issue.message}`];
  // A setting with names, such as the quotas: the message has the name and its own value.
  const shownPath = entry.parse ? path : entry.path;
  const shown = entry.secret ? 'something else' : JSON.stringify(valueAt(tree, shownPath));
  return [`${shownPath.join('.')} (${entry.env}): expected ${entry.expects}, got ${shown}`];
}

function knownNames(group: string[], settings: SettingEntry[]): string {
  const inside = settings.filter((entry) => group.every((key, index) => key === entry.path[index]));
  const names = [...new Set(inside.map((entry) => entry.path[group.length] ?? ''))].filter(Boolean);
  return names.length > 0 ? `; known here: ${names.join(', ')}` : '';
}

function valueAt(tree: Tree, path: string[]): unknown {
  return path.reduce<unknown>((branch, key) => (isTree(branch) ? branch[key] : undefined), tree);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function deepFreeze<T>(value: T): T {
  if (isTree(value)) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
