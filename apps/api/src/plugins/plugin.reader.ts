import semver from 'semver';
import { closestName, isStandardSchema } from '#rollcall/agent-runtime';
import { VERSION } from '../version.js';
import { type Plugin, PLUGIN_PARTS, type PluginPart, type PluginParts } from './plugin.js';
import { PluginGuard, type PluginLimits } from './plugin.guard.js';

/** A plugin cannot be used, so the server does not start. The message names the plugin, the field and what to do. */
export class PluginError extends Error {
  override readonly name = 'PluginError';

  constructor(plugin: string, problem: string, options?: ErrorOptions) {
    super(`The plugin ${plugin} cannot be used: ${problem}`, options);
  }
}

/** An entry of the setting `plugins`. */
export interface PluginUse {
  /** A path that begins with `./`, `../` or `/`, or the name of a package. */
  readonly use: string;
  /** Its configuration block. */
  readonly config?: unknown;
}

/** A plugin whose parts have been checked. */
export interface LoadedPlugin {
  readonly name: string;
  readonly version: string | null;
  /** Where it was loaded from. */
  readonly from: string;
  readonly parts: { readonly [Part in PluginPart]: NonNullable<PluginParts[Part]> };
  readonly guard: PluginGuard;
}

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const OTHER_FIELDS = ['name', 'version', 'rollcall', 'config', 'setup'];
const FIELDS = [...OTHER_FIELDS, ...PLUGIN_PARTS];

/** The method that an element of a part must have. An element of another part is a function, or has only a name. */
const METHODS: Partial<Record<PluginPart, string>> = {
  tools: 'execute',
  toolBoxes: 'tools',
  factories: 'create',
  agentProviders: 'createAgent',
  modelVendors: 'open',
  strategies: 'score',
  scoringRules: 'score',
  eventSinks: 'deliver',
  budgetSources: 'usage',
};
const NAMED: ReadonlySet<PluginPart> = new Set(['definitions', 'middleware']);
const FUNCTIONS: ReadonlySet<PluginPart> = new Set(['inputGuardrails', 'outputGuardrails']);

/** Checks the default export of a module, validates the configuration, and calls `setup`. */
export async function readPlugin(
  exported: unknown,
  { use, config }: PluginUse,
  limits: PluginLimits,
): Promise<LoadedPlugin> {
  const plugin = pluginOf(exported, use);
  const { name, version, setup } = plugin;
  const label = name === use ? name : `${name} (${use})`;
  checkVersion(plugin, label);
  const guard = new PluginGuard(name, limits);
  const settings = await settingsOf(plugin, config, label);
  const added = setup ? await callSetup(plugin, settings, guard, label) : {};
  const parts = Object.fromEntries(
    PLUGIN_PARTS.map((part) => [part, [...elementsOf(plugin, part, label), ...elementsOf(added, part, label)]]),
  ) as unknown as LoadedPlugin['parts'];
  return { name, version: version ?? null, from: use, parts, guard };
}

/** A module that was compiled to CommonJS has its default export in `default` of its exports. */
function pluginOf(exported: unknown, use: string): Plugin {
  const plugin = isObject(exported) && isObject(exported['default']) ? exported['default'] : exported;
  if (!isObject(plugin))
    throw new PluginError(use, 'its module has no default export. Write `export default definePlugin({ … })`.');
  const { name } = plugin;
  if (typeof name !== 'string' || !NAME.test(name))
    throw new PluginError(
      use,
      `name: ${JSON.stringify(name) ?? 'it is missing'}. Use 1 to 40 lower-case letters, digits and hyphens, beginning with a letter.`,
    );
  checkFields(plugin, FIELDS, name);
  return plugin as unknown as Plugin;
}

function checkFields(given: object, known: readonly string[], label: string): void {
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue;
    const closest = closestName(field, known);
    const remedy = closest === undefined ? `Known fields: ${known.join(', ')}.` : `Did you mean ${closest}?`;
    throw new PluginError(label, `${field}: a plugin has no such field. ${remedy}`);
  }
}

function checkVersion({ rollcall: range }: Plugin, label: string): void {
  if (range === undefined) return;
  if (semver.validRange(range) === null)
    throw new PluginError(
      label,
      `rollcall: ${JSON.stringify(range)} is not a range of versions. Write one such as ^${VERSION}.`,
    );
  if (semver.satisfies(VERSION, range, { includePrerelease: true })) return;
  throw new PluginError(
    label,
    `rollcall: it works with Rollcall ${range}, but this is ${VERSION}. Install another version of the plugin or of Rollcall.`,
  );
}

async function settingsOf({ name, config: schema }: Plugin, given: unknown, label: string): Promise<unknown> {
  if (schema === undefined) {
    if (given === undefined) return undefined;
    throw new PluginError(label, 'config: the plugin has no configuration. Remove its config block under plugins.');
  }
  if (!isStandardSchema(schema))
    throw new PluginError(
      label,
      'config: it is not a Standard Schema. Use a schema of zod, Valibot, ArkType or another such library.',
    );
  const result = await schema['~standard'].validate(given ?? {});
  if (!result.issues) return result.value;
  const problems = result.issues.map(({ message, path = [] }) => {
    const place = ['config', ...path.map((step) => String(typeof step === 'object' ? step.key : step))].join('.');
    return `${place}: ${message}`;
  });
  throw new PluginError(
    label,
    `${problems.join('; ')}. Correct its config block under plugins: - use: … config: … (plugin ${name}).`,
  );
}

async function callSetup(plugin: Plugin, config: unknown, guard: PluginGuard, label: string): Promise<PluginParts> {
  let added: unknown;
  try {
    added = await guard.within(
      'setup',
      guard.limits.loadMs,
      async () => await plugin.setup?.({ config, log: guard.log }),
    );
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new PluginError(label, `setup: ${message}`, { cause: error });
  }
  if (!isObject(added))
    throw new PluginError(label, 'setup: it returned no object. Return the parts, such as { tools: [ … ] }.');
  checkFields(added, PLUGIN_PARTS, label);
  return added;
}

function elementsOf(parts: PluginParts, part: PluginPart, label: string): readonly unknown[] {
  const elements: unknown = parts[part];
  if (elements === undefined) return [];
  if (!Array.isArray(elements)) throw new PluginError(label, `${part}: it is not a list. Write ${part}: [ … ].`);
  elements.forEach((element: unknown, index) => {
    const fault = faultOf(element, part);
    if (fault !== undefined) throw new PluginError(label, `${part}[${index}]: ${fault}`);
  });
  return elements as readonly unknown[];
}

function faultOf(element: unknown, part: PluginPart): string | undefined {
  if (FUNCTIONS.has(part)) return typeof element === 'function' ? undefined : 'it is not a function.';
  const method = METHODS[part];
  if (method === undefined && !NAMED.has(part)) return element ? undefined : 'it is empty.';
  if (!isObject(element) || typeof element['name'] !== 'string' || element['name'] === '')
    return `it has no name. ${part === 'tools' ? 'Create tools with defineTool.' : ''}`.trim();
  if (method === undefined || typeof element[method] === 'function') return undefined;
  return `${element['name']} has no function ${method}. ${part === 'tools' ? 'Create tools with defineTool.' : ''}`.trim();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
