import { ModelsConfigSchema, type ModelsConfig } from '#rollcall/providers';
import { json, setting } from './setting.js';

/** This model needs neither a key nor a network, so Rollcall works without configuration. Its prices make the cost of a run visible. */
const DEMO = { vendor: 'scripted', model: 'demo', usdPerMillionTokens: { input: 3, output: 15 } };
const DEMO_MODELS: ModelsConfig = { default: 'demo', presets: { demo: DEMO } };

/** Validated but not parsed here: `PresetCatalog` parses the original value. */
export const models = setting(
  json()
    .refine((value) => ModelsConfigSchema.safeParse(value).success)
    .transform((value) => value as ModelsConfig)
    .default(DEMO_MODELS),
  {
    env: 'ROLLCALL_MODELS',
    about:
      'The models that agents can use: presets, aliases and vendors (see providers.md). In the environment: one line of JSON.',
    expects: 'presets with a default among them, as described in providers.md',
    defaultText: 'one preset that needs no key',
  },
);
