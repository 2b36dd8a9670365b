import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from './plugin.js';
import type { PluginLimits } from './plugin.guard.js';
import { type LoadedPlugin, PluginError, type PluginUse, readPlugin } from './plugin.reader.js';
import { Plugins } from './plugins.js';

/** A plugin that an application has imported itself. */
export interface ImportedPlugin {
  readonly plugin: Plugin;
  readonly config: unknown;
}

/** The entry points of the package. Plugins always get those of the running server, so that classes exist once. */
const ENTRY_POINTS: Record<string, URL> = {
  'rollcall/plugin': new URL('../package/plugin.js', import.meta.url),
  'rollcall/embed': new URL('../package/embed.js', import.meta.url),
};

/**
 * Imports the plugins in their order. Paths and packages are resolved from this folder. `imported` are plugins of an application that
 * embeds Rollcall.
 */
export async function loadPlugins(
  uses: readonly PluginUse[],
  folder: string,
  limits: PluginLimits,
  imported: readonly ImportedPlugin[] = [],
): Promise<Plugins> {
  const loaded = uses.length > 0 ? await importAll(uses, folder, limits) : [];
  for (const { plugin, config } of imported)
    loaded.push(await readPlugin(plugin, { use: plugin.name, config }, limits));
  return Plugins.of(loaded, limits);
}

async function importAll(uses: readonly PluginUse[], folder: string, limits: PluginLimits): Promise<LoadedPlugin[]> {
  const parentURL = pathToFileURL(join(folder, 'rollcall.yaml')).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const entry = ENTRY_POINTS[specifier];
      if (entry) return next(entry.href, context);
      return next(specifier, context.parentURL === import.meta.url ? { ...context, parentURL } : context);
    },
  });
  const loaded: LoadedPlugin[] = [];
  try {
    for (const one of uses) loaded.push(await readPlugin(await importPlugin(one, limits), one, limits));
  } catch (error) {
    hooks.deregister(); // otherwise plugins may import further modules later
    throw error;
  }
  return loaded;
}

async function importPlugin({ use }: PluginUse, { loadMs }: PluginLimits): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    const problem = `its module did not load within ${loadMs} ms. Do slow work in setup, or later.`;
    timer = setTimeout(() => reject(new PluginError(use, problem)), loadMs);
  });
  try {
    const module = (await Promise.race([import(use), limit])) as { default?: unknown };
    return module.default;
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw new PluginError(use, explained(error, use), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The first place in a file that a stack names. */
const FRAME = /^ *at (?:.*\()?((?:file:\/\/)?\/[^)\n]+?:\d+):\d+\)?$/m;

function explained(error: unknown, use: string): string {
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { code: undefined, message: String(error) };
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const place = FRAME.exec(stack)?.[1];
  const where = place === undefined || code !== undefined ? '' : ` (${place})`;
  const remedy = REMEDIES[code ?? ''] ?? remedyFor(error instanceof Error ? error.name : '', message);
  return `its module cannot be loaded: ${message.split('\n')[0]}${where}. ${remedy.replace('FILE', use)}`;
}

const REMEDIES: Record<string, string> = {
  ERR_MODULE_NOT_FOUND:
    'Check the path, which begins with ./ for a file of the working directory, or install the package there with npm install.',
  ERR_PACKAGE_PATH_NOT_EXPORTED: 'The package does not export this path. Use one that it exports.',
  ERR_UNSUPPORTED_DIR_IMPORT: 'Name the file, not its folder.',
  ERR_UNKNOWN_FILE_EXTENSION: 'Use a file with the extension .js, .mjs, .cjs or .ts.',
};

function remedyFor(name: string, message: string): string {
  if (/require is not defined|module is not defined|exports is not defined/.test(message))
    return 'It mixes CommonJS with ES modules: use import and export, or the extension .cjs.';
  if (/Cannot use import statement outside a module|Unexpected token 'export'/.test(message))
    return 'Its package.json says that it is CommonJS: remove "type": "commonjs" there, or use the extension .mjs.';
  if (/does not provide an export named/.test(message)) return 'Check the names of its imports.';
  if (name === 'SyntaxError') return 'Find the place with: node --check FILE';
  return 'Correct the code at the top of the module.';
}
