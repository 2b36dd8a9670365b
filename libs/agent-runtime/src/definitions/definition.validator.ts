import { Injectable } from '@nestjs/common';
import { AgentProviderRegistry, BUILT_IN_ALIASES, INHERIT, PresetCatalog, VendorRegistry } from '#rollcall/providers';
import { RUNTIME_TOOLS } from '../agents/react.options.js';
import { outputFormat } from '../loop/output.format.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { systemPrompt } from '../skills/system.prompt.js';
import { suggestion } from '../tools/closest.name.js';
import { ToolCatalog } from '../tools/tool.catalog.js';
import { filterNames, type KnownTools, unknownDenied, unknownEntries } from '../tools/tool.filter.js';
import { type DefinitionFault, DefinitionInvalidError } from './definition.errors.js';
import { type DefinitionContent, NATIVE } from './definition.js';
import { PluginNames } from './plugin.names.js';
import { readContent, settingsFaults, unknownKey, withoutUnknownKeys } from './definition.schema.js';

/** The names that a definition can refer to. */
interface KnownNames {
  tools: KnownTools;
  skills: readonly string[];
  /** Presets and aliases. */
  models: readonly string[];
  vendors: readonly string[];
  providers: readonly string[];
}

/** To find a suggestion, a name is compared with all known names. So only the first unknown names get a suggestion. */
const MAX_SUGGESTIONS = 20;

/** Checks definitions against the tools, skills, models and providers of this deployment. Reports all problems at once. */
@Injectable()
export class DefinitionValidator {
  constructor(
    private readonly tools: ToolCatalog,
    private readonly skills: SkillLibrary,
    private readonly presets: PresetCatalog,
    private readonly vendors: VendorRegistry,
    private readonly providers: AgentProviderRegistry,
    private readonly plugins: PluginNames,
  ) {}

  /** Returns the content with its defaults, or throws DEFINITION_INVALID. */
  async strict(value: unknown, namespace: string): Promise<DefinitionContent> {
    const { content, faults } = readContent(value);
    throwIfAny(faults, [
      ...unknownReferences(content, this.known(namespace)),
      ...(await this.faultsIn(content, namespace)),
    ]);
    return this.plugins.complete(content, namespace);
  }

  /**
   * For files, which may come from other systems: unknown keys, tools and skills are dropped, and an unknown model becomes the
   * default. Each of these problems is a warning. All other problems are errors, as in `strict`.
   */
  async lenient(
    value: unknown,
    namespace: string,
  ): Promise<{ content: DefinitionContent; warnings: DefinitionFault[] }> {
    const { value: cleaned, unknown } = withoutUnknownKeys(value);
    const { content, faults } = readContent(cleaned);
    const known = this.known(namespace);
    const kept = withoutUnknown(content, known);
    throwIfAny(faults, [...unknownProvider(kept, known), ...(await this.faultsIn(kept, namespace))]);
    const warnings = [
      ...unknown.map((key) => unknownKey(key)),
      ...unknownModel(content, known),
      ...unknownParts(content, known),
    ];
    return { content: this.plugins.complete(kept, namespace), warnings };
  }

  /** The names that a definition in this namespace can refer to. */
  known(namespace: string): KnownNames {
    return {
      tools: this.tools.known(namespace, RUNTIME_TOOLS),
      skills: this.skills.list().map(({ name }) => name),
      models: [
        ...new Set([
          ...this.presets
            .in(namespace)
            .list()
            .flatMap(({ name, aliases }) => aliases.concat(name)),
          ...BUILT_IN_ALIASES,
        ]),
      ],
      vendors: this.vendors.list().map(({ name }) => name),
      providers: this.providers.list().map(({ name }) => name),
    };
  }

  /** Problems that are not unknown names. */
  private async faultsIn(content: DefinitionContent, namespace: string): Promise<DefinitionFault[]> {
    const { settings, provider, outputSchema } = content;
    const faults: DefinitionFault[] = [];
    if (settings && provider === NATIVE)
      faults.push({
        field: 'settings',
        message: `settings: the provider ${NATIVE} has no settings; use the other fields of the definition`,
      });
    const schema = this.providers.list().find(({ name }) => name === provider)?.settingsSchema;
    if (schema) faults.push(...settingsFaults(schema, settings ?? {}));
    if (outputSchema)
      faults.push(...(await thrownBy('outputSchema', async () => await outputFormat(outputSchema, namespace).check())));
    faults.push(
      ...unknownFaults('plugins', 'plugin', missing(content.plugins ?? [], this.plugins.all), this.plugins.all),
    );
    return [...faults, ...duplicatesIn(content), ...(await thrownBy('skills', () => this.promptOf(content)))];
  }

  /** Throws if the preloaded skills are too large. */
  private promptOf({ description, instructions, skills = [] }: DefinitionContent): string {
    const found = skills.flatMap(({ name, mode }) => {
      const skill = this.skills.find(name);
      return skill ? [{ skill, mode }] : [];
    });
    return systemPrompt({ name: 'agent', description, instructions, skills: found });
  }
}

/** Throws if there are problems. Problems in `more` are not reported for a field that already has a fault. */
function throwIfAny(faults: readonly DefinitionFault[], more: readonly DefinitionFault[]): void {
  const reported = new Set(faults.map(({ field }) => field));
  const all = [...faults, ...more.filter(({ field }) => !reported.has(field))];
  if (all.length > 0) throw new DefinitionInvalidError(all);
}

async function thrownBy(field: string, check: () => unknown): Promise<DefinitionFault[]> {
  try {
    await check();
    return [];
  } catch (error) {
    return [{ field, message: `${field}: ${(error as Error).message.replace(/\.$/, '')}` }];
  }
}

/** All references of a definition to names that do not exist. */
function unknownReferences(content: DefinitionContent, known: KnownNames): DefinitionFault[] {
  return [...unknownProvider(content, known), ...unknownModel(content, known), ...unknownParts(content, known)];
}

/** The unknown tools and skills. A spec file may contain them, because `withoutUnknown` removes them. */
function unknownParts(content: DefinitionContent, { tools, skills }: KnownNames): DefinitionFault[] {
  const wanted = (content.skills ?? []).map(({ name }) => name);
  return [
    ...toolFaults('tools', unknownEntries(content.tools ?? [], tools), tools),
    ...toolFaults('disallowedTools', unknownDenied(content.disallowedTools ?? [], tools), tools),
    ...toolFaults('approve', unknownEntries(Object.keys(content.approve ?? {}), tools), tools),
    ...unknownFaults('skills', 'skill', missing(wanted, skills), skills),
  ];
}

/** A tool that is off has another remedy than a tool that does not exist. */
function toolFaults(field: string, unknown: readonly string[], tools: KnownTools): DefinitionFault[] {
  const { off } = tools;
  const turnedOff = unknown.filter((name) => off?.has(name));
  return [
    ...turnedOff.map((name) => ({
      field,
      message: `${field}: the tool ${JSON.stringify(name)} is off; ${off?.get(name)}`,
    })),
    ...unknownFaults(field, 'tool', missing(unknown, turnedOff), filterNames(tools)),
  ];
}

function unknownProvider({ provider }: DefinitionContent, { providers }: KnownNames): DefinitionFault[] {
  return unknownFaults('provider', 'agent provider', missing([provider], providers), providers);
}

function unknownModel({ model }: DefinitionContent, { models, vendors }: KnownNames): DefinitionFault[] {
  if (model === null || model === undefined || model === INHERIT) return [];
  if (typeof model === 'string')
    return unknownFaults('model', 'model preset or alias', missing([model], models), models);
  if ('vendor' in model)
    return unknownFaults('model.vendor', 'model vendor', missing([model.vendor], vendors), vendors);
  return unknownFaults('model.preset', 'model preset or alias', missing([model.preset], models), models);
}

/** The names that occur twice in one list. */
function duplicatesIn({ tools, disallowedTools, skills, subagents }: DefinitionContent): DefinitionFault[] {
  const lists = { tools, disallowedTools, skills: skills?.map(({ name }) => name), subagents };
  return Object.entries(lists).flatMap(([field, names]) => {
    const repeated = new Set(names?.filter((name, index) => names.indexOf(name) !== index));
    return [...repeated].map((name) => ({ field, message: `${field} contains ${JSON.stringify(name)} twice` }));
  });
}

/** Removes unknown tools, skills and models. If no known tool is left, `tools` stays an empty list, which allows no tools. */
function withoutUnknown(content: DefinitionContent, known: KnownNames): DefinitionContent {
  const { model, tools, disallowedTools, approve, skills, ...rest } = content;
  const keepsModel = model !== undefined && unknownModel(content, known).length === 0;
  return {
    ...rest,
    ...(keepsModel && { model }),
    ...(tools !== undefined && { tools: tools && without(tools, unknownEntries(tools, known.tools)) }),
    ...(disallowedTools && { disallowedTools: without(disallowedTools, unknownDenied(disallowedTools, known.tools)) }),
    ...(approve && { approve: withoutKeys(approve, unknownEntries(Object.keys(approve), known.tools)) }),
    ...(skills && { skills: skills.filter(({ name }) => known.skills.includes(name)) }),
  };
}

function without(entries: readonly string[], removed: readonly string[]): string[] {
  return entries.filter((entry) => !removed.includes(entry));
}

function withoutKeys<Value>(
  entries: Readonly<Record<string, Value>>,
  removed: readonly string[],
): Record<string, Value> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => !removed.includes(name)));
}

function missing(wanted: readonly string[], known: readonly string[]): string[] {
  return [...new Set(wanted)].filter((name) => !known.includes(name));
}

function unknownFaults(
  field: string,
  noun: string,
  unknown: readonly string[],
  known: readonly string[],
): DefinitionFault[] {
  return unknown.map((name, index) => {
    const hint = index < MAX_SUGGESTIONS ? suggestion(name, known) : '';
    return { field, message: `${field}: there is no ${noun} ${JSON.stringify(name)}${hint}` };
  });
}
