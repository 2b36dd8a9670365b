import { INHERIT } from '#rollcall/providers';
import { suggestion } from '../tools/closest.name.js';
import { filterNames, type KnownTools, unknownDenied, unknownEntries } from '../tools/tool.filter.js';
import type { DefinitionContent } from './definition.js';
import type { DefinitionFault } from './definition.errors.js';

/** The names that a definition can refer to. */
export interface KnownNames {
  tools: KnownTools;
  skills: readonly string[];
  /** Presets and aliases. */
  models: readonly string[];
  vendors: readonly string[];
  providers: readonly string[];
}

/** To find a suggestion, a name is compared with all known names. So only the first unknown names get a suggestion. */
const MAX_SUGGESTIONS = 20;

/** All references of a definition to names that do not exist. */
export function unknownReferences(content: DefinitionContent, known: KnownNames): DefinitionFault[] {
  return [...unknownProvider(content, known), ...unknownModel(content, known), ...unknownParts(content, known)];
}

/** The unknown tools and skills. A spec file may contain them, because `withoutUnknown` removes them. */
export function unknownParts(content: DefinitionContent, { tools, skills }: KnownNames): DefinitionFault[] {
  const wanted = (content.skills ?? []).map(({ name }) => name);
  return [
    ...faults('tools', 'tool', unknownEntries(content.tools ?? [], tools), filterNames(tools)),
    ...faults('disallowedTools', 'tool', unknownDenied(content.disallowedTools ?? [], tools), filterNames(tools)),
    ...faults('skills', 'skill', missing(wanted, skills), skills),
  ];
}

export function unknownProvider({ provider }: DefinitionContent, { providers }: KnownNames): DefinitionFault[] {
  return faults('provider', 'agent provider', missing([provider], providers), providers);
}

export function unknownModel({ model }: DefinitionContent, { models, vendors }: KnownNames): DefinitionFault[] {
  if (model === null || model === undefined || model === INHERIT) return [];
  if (typeof model === 'string') return faults('model', 'model preset or alias', missing([model], models), models);
  if ('vendor' in model) return faults('model.vendor', 'model vendor', missing([model.vendor], vendors), vendors);
  return faults('model.preset', 'model preset or alias', missing([model.preset], models), models);
}

/** The names that occur twice in one list. */
export function duplicatesIn({ tools, disallowedTools, skills, subagents }: DefinitionContent): DefinitionFault[] {
  const lists = { tools, disallowedTools, skills: skills?.map(({ name }) => name), subagents };
  return Object.entries(lists).flatMap(([field, names]) => {
    const repeated = new Set(names?.filter((name, index) => names.indexOf(name) !== index));
    return [...repeated].map((name) => ({ field, message: `${field} contains ${JSON.stringify(name)} twice` }));
  });
}

/** Removes unknown tools, skills and models. If no known tool is left, `tools` stays an empty list, which allows no tools. */
export function withoutUnknown(content: DefinitionContent, known: KnownNames): DefinitionContent {
  const { model, tools, disallowedTools, skills, ...rest } = content;
  const keepsModel = model !== undefined && unknownModel(content, known).length === 0;
  return {
    ...rest,
    ...(keepsModel && { model }),
    ...(tools !== undefined && { tools: tools && without(tools, unknownEntries(tools, known.tools)) }),
    ...(disallowedTools && { disallowedTools: without(disallowedTools, unknownDenied(disallowedTools, known.tools)) }),
    ...(skills && { skills: skills.filter(({ name }) => known.skills.includes(name)) }),
  };
}

function without(entries: readonly string[], removed: readonly string[]): string[] {
  return entries.filter((entry) => !removed.includes(entry));
}

function missing(wanted: readonly string[], known: readonly string[]): string[] {
  return [...new Set(wanted)].filter((name) => !known.includes(name));
}

function faults(field: string, noun: string, unknown: readonly string[], known: readonly string[]): DefinitionFault[] {
  return unknown.map((name, index) => {
    const hint = index < MAX_SUGGESTIONS ? suggestion(name, known) : '';
    return { field, message: `${field}: there is no ${noun} ${JSON.stringify(name)}${hint}` };
  });
}
