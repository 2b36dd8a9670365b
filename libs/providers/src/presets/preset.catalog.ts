import { z } from 'zod';
import { ProviderError } from '../errors.js';
import { isForNamespace, type NamespaceRestriction, NamespacesSchema } from '../namespace.restriction.js';
import type { ModelSettings } from '../models/model.provider.js';
import { EnvName } from '../secrets/secret.js';
import { PriceList } from './price.list.js';
import { type Prices, PricesShape } from './prices.js';

const Name = z.string().regex(/^[\w.:/-]{1,100}$/);

const SettingsSchema = z.strictObject({
  maxOutputTokens: z.int().positive().optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  stopSequences: z.array(z.string().min(1)).max(16).optional(),
  seed: z.int().optional(),
  effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
});

const PricesSchema = z.strictObject(PricesShape);

/** API responses show the URL, so it must not contain a password. */
const BaseUrl = z
  .url({ protocol: /^https?$/ })
  .refine((text) => !/^\w+:\/\/[^/]*@/.test(text), 'must not contain a user or password')
  .refine(
    (text) => !/[?#]/.test(text),
    'must not contain a query or a fragment: API responses show the URL, so a key in it would be visible',
  );

const VendorDefaultsSchema = z.strictObject({ baseUrl: BaseUrl.optional(), keyEnv: EnvName.optional() });

/** What the model can do, such as chat, tools and vision: a list, or a map with these keys. */
const CapabilitiesSchema = z.union([
  z.array(z.string().min(1).max(100)).max(50),
  z.record(z.string().min(1).max(100), z.unknown()).transform((all) => Object.keys(all)),
]);

const PresetSchema = VendorDefaultsSchema.extend({
  vendor: Name,
  model: Name,
  settings: SettingsSchema.optional(),
  contextWindow: z.int().positive().optional(),
  capabilities: CapabilitiesSchema.optional(),
  usdPerMillionTokens: PricesSchema.optional(),
  namespaces: NamespacesSchema,
});

/** The part of the configuration that defines models. */
export const ModelsConfigSchema = z.strictObject({
  default: Name,
  presets: z.record(Name, PresetSchema),
  /** Other names for presets, such as `sonnet: fast`. */
  aliases: z.record(Name, Name).default({}),
  /** Default address and key of each vendor, for presets and inline choices. */
  vendors: z.record(Name, VendorDefaultsSchema).default({}),
});

export type ModelsConfig = z.input<typeof ModelsConfigSchema>;

/** The names of the fields at a path of the configuration of models, for error messages. */
export function modelFieldsAt([group, , inner]: readonly string[]): string[] {
  if (group === undefined) return Object.keys(ModelsConfigSchema.shape);
  if (group === 'vendors') return Object.keys(VendorDefaultsSchema.shape);
  if (inner === 'settings') return Object.keys(SettingsSchema.shape);
  return Object.keys(inner === 'usdPerMillionTokens' ? PricesShape : PresetSchema.shape);
}

/**
 * A choice in a definition instead of a name. It selects a vendor and a model, or changes a preset. It cannot contain
 * an address or a key: definitions come from many users, and a key must not be sent to an address that they control.
 */
export const InlineChoiceSchema = z.union([
  z.strictObject({ vendor: Name, model: Name, settings: SettingsSchema.optional() }),
  z.strictObject({ preset: Name, model: Name.optional(), settings: SettingsSchema.optional() }),
]);

export type InlineChoice = z.infer<typeof InlineChoiceSchema>;

/** The name of a preset or alias, `inherit`, an inline choice, or no choice. */
export type WantedModel = string | InlineChoice | null | undefined;

/** A complete choice of a model. It is plain JSON without keys, so that it can be stored, compared and shown. */
export interface ModelChoice {
  vendor: string;
  model: string;
  baseUrl?: string;
  keyEnv?: string;
  settings: ModelSettings;
  contextWindow?: number;
  /** What the model can do. Agents that use it claim this, too (S0.10). */
  capabilities?: readonly string[];
  prices?: Prices;
  /** The date of the price list, if the prices are from it. */
  pricesAsOf?: string;
}

export interface PresetView extends ModelChoice {
  name: string;
  aliases: string[];
  isDefault: boolean;
}

/** A reserved name that selects the model of the parent. */
export const INHERIT = 'inherit';

/** The default environment variables of the keys. The vendors' own tools use the same names. */
const KEY_NAMES = new Map([
  ['anthropic', { keyEnv: 'ANTHROPIC_API_KEY' }],
  ['openai', { keyEnv: 'OPENAI_API_KEY' }],
  ['google', { keyEnv: 'GEMINI_API_KEY' }],
  ['openrouter', { keyEnv: 'OPENROUTER_API_KEY' }],
  ['azure', { keyEnv: 'AZURE_OPENAI_API_KEY' }],
  ['bedrock', { keyEnv: 'AWS_BEARER_TOKEN_BEDROCK' }],
]);

/** The vendors whose key has a usual name. */
export const KEYED_VENDORS: readonly string[] = [...KEY_NAMES.keys()];

/**
 * The presets and aliases of an installation. The constructor checks that the default and all aliases refer to existing
 * presets.
 */
export class PresetCatalog {
  readonly defaultName: string;
  private readonly presets: ReadonlyMap<string, ModelChoice>;
  private readonly aliases: ReadonlyMap<string, string>;
  private readonly vendors: Record<string, { baseUrl?: string; keyEnv?: string }>;
  /** Whether some presets are only for some namespaces. */
  private readonly isScoped: boolean;
  private readonly byNamespace = new Map<string, PresetCatalog>();

  /** `priceList` completes presets without a price. */
  constructor(
    private readonly config: ModelsConfig,
    private readonly priceList: PriceList = PriceList.EMPTY,
  ) {
    const parsed = ModelsConfigSchema.safeParse(config);
    if (!parsed.success) throw invalid(z.prettifyError(parsed.error));
    const { presets, aliases, vendors } = parsed.data;
    this.defaultName = parsed.data.default;
    this.vendors = vendors;
    this.aliases = new Map(Object.entries(aliases));
    this.presets = new Map(
      Object.entries(presets).map(
        ([name, { usdPerMillionTokens: prices, settings = {}, namespaces: _namespaces, ...preset }]) => [
          name,
          this.listed({ ...this.connectionOf(preset.vendor), ...preset, settings, ...(prices && { prices }) }),
        ],
      ),
    );
    this.isScoped = Object.values(presets).some(({ namespaces }) => namespaces !== undefined);
    this.check(presets);
  }

  /** The presets that this namespace can use, and their aliases. The default preset is for all namespaces. */
  in(namespace: string): PresetCatalog {
    if (!this.isScoped) return this;
    const known = this.byNamespace.get(namespace);
    if (known) return known;
    const { presets, aliases = {}, ...rest } = this.config;
    const own = Object.entries(presets).filter(([, preset]) => isForNamespace(preset, namespace));
    const visible = Object.fromEntries(own.map(([name, { namespaces: _namespaces, ...preset }]) => [name, preset]));
    const named = Object.entries(aliases).filter(([, target]) => Object.hasOwn(visible, target));
    const config = { ...rest, presets: visible, aliases: Object.fromEntries(named) };
    const catalog = new PresetCatalog(config, this.priceList);
    this.byNamespace.set(namespace, catalog);
    return catalog;
  }

  /** Returns the preset with this name or alias. */
  find(name: string): { name: string; choice: ModelChoice } | undefined {
    const target = this.aliases.get(name) ?? name;
    const choice = this.presets.get(target);
    return choice && { name: target, choice };
  }

  connectionOf(vendor: string): { baseUrl?: string; keyEnv?: string } {
    const own = Object.hasOwn(this.vendors, vendor) ? this.vendors[vendor] : undefined;
    return { ...KEY_NAMES.get(vendor), ...own };
  }

  /** The choice with what the price list says about its model, where the choice says nothing. A stated price is never changed. */
  listed(choice: ModelChoice): ModelChoice {
    const facts = this.priceList.find(choice);
    if (!facts) return choice;
    const { contextWindow, capabilities, prices, pricesAsOf } = facts;
    return {
      ...(contextWindow !== undefined && { contextWindow }),
      ...(capabilities && { capabilities }),
      ...choice,
      ...(!choice.prices && { prices, pricesAsOf }),
    };
  }

  list(): PresetView[] {
    const sorted = [...this.presets].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return sorted.map(([name, choice]) => this.viewOf(name, choice));
  }

  private viewOf(name: string, choice: ModelChoice): PresetView {
    const aliases = [...this.aliases].flatMap(([alias, target]) => (target === name ? [alias] : [])).toSorted();
    return { name, aliases, isDefault: name === this.find(this.defaultName)?.name, ...choice };
  }

  unknown(name: string): ProviderError {
    const known = `presets: ${names(this.presets)}; aliases: ${names(this.aliases) || 'none'}`;
    return new ProviderError('MODEL_PRESET_UNKNOWN', `There is no model preset or alias ${name}. Known ${known}.`);
  }

  private check(presets: Readonly<Record<string, NamespaceRestriction>>): void {
    const byDefault = this.find(this.defaultName);
    if (!byDefault)
      throw invalid(`default: the preset ${this.defaultName} does not exist; known: ${names(this.presets)}`);
    if (presets[byDefault.name]?.namespaces)
      throw invalid(
        `default: the preset ${byDefault.name} has namespaces, but every namespace uses the default; remove them, or choose another default`,
      );
    for (const [alias, target] of this.aliases) {
      if (this.presets.has(alias)) throw invalid(`aliases.${alias}: a preset has the same name`);
      if (!this.presets.has(target)) throw invalid(`aliases.${alias}: the preset ${target} does not exist`);
    }
    if (this.presets.has(INHERIT) || this.aliases.has(INHERIT))
      throw invalid(`${INHERIT} is a reserved name: it selects the model of the parent`);
  }
}

function names(map: ReadonlyMap<string, unknown>): string {
  return [...map.keys()].toSorted().join(', ');
}

function invalid(what: string): ProviderError {
  return new ProviderError('MODEL_PRESETS_INVALID', `The model presets are not valid: ${what}`);
}
