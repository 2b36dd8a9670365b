import { Injectable } from '@nestjs/common';
import { AgentProviderRegistry, BUILT_IN_ALIASES, PresetCatalog, VendorRegistry } from '#rollcall/providers';
import { RUNTIME_TOOLS } from '../agents/react.options.js';
import { outputFormat } from '../loop/output.format.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { systemPrompt } from '../skills/system.prompt.js';
import { ToolCatalog } from '../tools/tool.catalog.js';
import { type DefinitionFault, DefinitionInvalidError } from './definition.errors.js';
import { type DefinitionContent, NATIVE } from './definition.js';
import {
  duplicatesIn,
  type KnownNames,
  unknownModel,
  unknownParts,
  unknownProvider,
  unknownReferences,
  withoutUnknown,
} from './definition.references.js';
import { readContent, settingsFaults, unknownKey, withoutUnknownKeys } from './definition.schema.js';

/** Checks definitions against the tools, skills, models and providers of this deployment. Reports all problems at once. */
@Injectable()
export class DefinitionValidator {
  constructor(
    private readonly tools: ToolCatalog,
    private readonly skills: SkillLibrary,
    private readonly presets: PresetCatalog,
    private readonly vendors: VendorRegistry,
    private readonly providers: AgentProviderRegistry,
  ) {}

  /** Returns the content with its defaults, or throws DEFINITION_INVALID. */
  strict(value: unknown, namespace: string): DefinitionContent {
    const { content, faults } = readContent(value);
    throwIfAny(faults, [...unknownReferences(content, this.known(namespace)), ...this.faultsIn(content)]);
    return content;
  }

  /**
   * For files, which may come from other systems: unknown keys, tools and skills are dropped, and an unknown model becomes the
   * default. Each of these problems is a warning. All other problems are errors, as in `strict`.
   */
  lenient(value: unknown, namespace: string): { content: DefinitionContent; warnings: DefinitionFault[] } {
    const { value: cleaned, unknown } = withoutUnknownKeys(value);
    const { content, faults } = readContent(cleaned);
    const known = this.known(namespace);
    const kept = withoutUnknown(content, known);
    throwIfAny(faults, [...unknownProvider(kept, known), ...this.faultsIn(kept)]);
    const warnings = [
      ...unknown.map((key) => unknownKey(key)),
      ...unknownModel(content, known),
      ...unknownParts(content, known),
    ];
    return { content: kept, warnings };
  }

  /** The names that a definition in this namespace can refer to. */
  known(namespace: string): KnownNames {
    const { tools, mcpServers } = this.tools.known(namespace);
    return {
      tools: { tools: [...tools, ...RUNTIME_TOOLS], mcpServers },
      skills: this.skills.list().map(({ name }) => name),
      models: [
        ...new Set([...this.presets.list().flatMap(({ name, aliases }) => aliases.concat(name)), ...BUILT_IN_ALIASES]),
      ],
      vendors: this.vendors.list().map(({ name }) => name),
      providers: this.providers.list().map(({ name }) => name),
    };
  }

  /** Problems that are not unknown names. */
  private faultsIn(content: DefinitionContent): DefinitionFault[] {
    const { settings, provider, outputSchema } = content;
    const faults: DefinitionFault[] = [];
    if (settings && provider === NATIVE)
      faults.push({
        field: 'settings',
        message: `settings: the provider ${NATIVE} has no settings; use the other fields of the definition`,
      });
    const schema = this.providers.list().find(({ name }) => name === provider)?.settingsSchema;
    if (schema) faults.push(...settingsFaults(schema, settings ?? {}));
    if (outputSchema) faults.push(...thrownBy('outputSchema', () => outputFormat(outputSchema)));
    return [...faults, ...duplicatesIn(content), ...thrownBy('skills', () => this.promptOf(content))];
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

function thrownBy(field: string, check: () => unknown): DefinitionFault[] {
  try {
    check();
    return [];
  } catch (error) {
    return [{ field, message: `${field}: ${(error as Error).message.replace(/\.$/, '')}` }];
  }
}
