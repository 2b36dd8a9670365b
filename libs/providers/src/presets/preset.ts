import { z } from 'zod';
import { toMicroDollars } from './prices.js';

const Name = z.string().regex(/^[\w.:/-]{1,100}$/);
/** Only a name: the value is asked for when a call is made, and kept nowhere. */
const EnvName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, 'must be the name of an environment variable, such as MY_API_KEY');
const Dollars = z.number().nonnegative().max(1_000_000).transform(toMicroDollars);

export const SettingsSchema = z.strictObject({
  maxOutputTokens: z.int().positive().optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  stopSequences: z.array(z.string().min(1)).max(16).optional(),
  seed: z.int().optional(),
  effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
});

/** In dollars per million tokens, as vendors print them. */
const PricesSchema = z.strictObject({
  input: Dollars,
  output: Dollars,
  cacheRead: Dollars.optional(),
  cacheWrite: Dollars.optional(),
});

/** Views show it, so it must not hold a password. */
const BaseUrl = z
  .url({ protocol: /^https?$/ })
  .refine((text) => !/^\w+:\/\/[^/]*@/.test(text), 'must not carry a user or password')
  .refine((text) => !/[?#]/.test(text), 'must end with its path: a key after a ? would be shown to everyone');

const VendorDefaultsSchema = z.strictObject({ baseUrl: BaseUrl.optional(), keyEnv: EnvName.optional() });

export const PresetSchema = VendorDefaultsSchema.extend({
  vendor: Name,
  model: Name,
  settings: SettingsSchema.optional(),
  contextWindow: z.int().positive().optional(),
  usdPerMillionTokens: PricesSchema.optional(),
});

/** The part of the configuration that names models. */
export const ModelsConfigSchema = z.strictObject({
  default: Name,
  presets: z.record(Name, PresetSchema),
  /** Short names and what they stand for, such as `sonnet: fast`. */
  aliases: z.record(Name, Name).default({}),
  /** Address and key of each vendor, for presets and inline choices that do not say. */
  vendors: z.record(Name, VendorDefaultsSchema).default({}),
});

export type ModelsConfig = z.input<typeof ModelsConfigSchema>;

/**
 * A choice written in a definition instead of a name. It picks a vendor and a model, or changes a preset; it never says
 * where to call or with which key. Definitions come from many hands, and a key must not travel to an address of theirs.
 */
export const InlineChoiceSchema = z.union([
  z.strictObject({ vendor: Name, model: Name, settings: SettingsSchema.optional() }),
  z.strictObject({ preset: Name, model: Name.optional(), settings: SettingsSchema.optional() }),
]);

export type InlineChoice = z.infer<typeof InlineChoiceSchema>;

/** The name of a preset or alias, `inherit`, an inline choice, or nothing at all. */
export type WantedModel = string | InlineChoice | null | undefined;
