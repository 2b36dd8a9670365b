import { z } from 'zod';
import { EnvName } from '../secrets/secret.js';
import { toMicroDollars } from './prices.js';

const Name = z.string().regex(/^[\w.:/-]{1,100}$/);
const Dollars = z.number().nonnegative().max(1_000_000).transform(toMicroDollars);

const SettingsSchema = z.strictObject({
  maxOutputTokens: z.int().positive().optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  stopSequences: z.array(z.string().min(1)).max(16).optional(),
  seed: z.int().optional(),
  effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
});

/** Prices in dollars per million tokens, as vendors publish them. */
const PricesSchema = z.strictObject({
  input: Dollars,
  output: Dollars,
  cacheRead: Dollars.optional(),
  cacheWrite: Dollars.optional(),
});

/** API responses show the URL, so it must not contain a password. */
const BaseUrl = z
  .url({ protocol: /^https?$/ })
  .refine((text) => !/^\w+:\/\/[^/]*@/.test(text), 'must not contain a user or password')
  .refine(
    (text) => !/[?#]/.test(text),
    'must not contain a query or a fragment: API responses show the URL, so a key in it would be visible',
  );

const VendorDefaultsSchema = z.strictObject({ baseUrl: BaseUrl.optional(), keyEnv: EnvName.optional() });

const PresetSchema = VendorDefaultsSchema.extend({
  vendor: Name,
  model: Name,
  settings: SettingsSchema.optional(),
  contextWindow: z.int().positive().optional(),
  usdPerMillionTokens: PricesSchema.optional(),
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
