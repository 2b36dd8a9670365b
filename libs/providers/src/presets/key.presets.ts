import type { ModelsConfig } from './preset.catalog.js';
import type { PriceList } from './price.list.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Presets = ModelsConfig['presets'];

/** The variables with which the vendors' own tools find a key, and the model that is used where none is named. */
const VENDORS = [
  { vendor: 'anthropic', keyEnv: ['ANTHROPIC_API_KEY'], preferred: 'claude-sonnet-5-5' },
  { vendor: 'openai', keyEnv: ['OPENAI_API_KEY'], preferred: 'gpt-6-sol' },
  { vendor: 'google', keyEnv: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'], preferred: 'gemini-3.8-flash' },
  { vendor: 'openrouter', keyEnv: ['OPENROUTER_API_KEY'], preferred: 'anthropic/claude-sonnet-5.5' },
] as const;

/** All variables that choose models without a configuration. */
export const MODEL_VARIABLES: readonly string[] = [
  ...VENDORS.flatMap(({ keyEnv }) => keyEnv),
  'AZURE_OPENAI_API_KEY',
  'AZURE_OPENAI_ENDPOINT',
  'AZURE_OPENAI_DEPLOYMENT',
  'AWS_BEARER_TOKEN_BEDROCK',
  'AWS_REGION',
];

interface Found {
  readonly presets: Presets;
  readonly preferred: string;
}

/**
 * The models of an installation that configures none (N-9): a preset for each model of the price list whose vendor has a key in the
 * environment, named like the model. The first key decides which model is the default. Undefined if there is no key.
 */
export function presetsOfKeys(environment: Environment, prices: PriceList): ModelsConfig | undefined {
  const found = [
    ...VENDORS.map((one) => ofVendor(one, environment, prices)),
    azure(environment),
    bedrock(environment, prices),
  ];
  const known = found.filter((one) => one !== undefined);
  const [first] = known;
  if (!first) return undefined;
  const presets: Presets = Object.assign({}, ...known.toReversed().map((one) => one.presets)) as Presets;
  return { default: first.preferred, presets };
}

function ofVendor(
  { vendor, keyEnv: names, preferred }: (typeof VENDORS)[number],
  environment: Environment,
  prices: PriceList,
): Found | undefined {
  const keyEnv = names.find((name) => environment[name]);
  if (keyEnv === undefined) return undefined;
  const models = prices.modelsOf(vendor);
  const all = models.includes(preferred) ? models : [...models, preferred];
  return { presets: Object.fromEntries(all.map((model) => [model, { vendor, model, keyEnv }])), preferred };
}

/** A deployment has the name that its owner chose. */
function azure(environment: Environment): Found | undefined {
  const keyEnv = 'AZURE_OPENAI_API_KEY';
  const { AZURE_OPENAI_ENDPOINT: endpoint, AZURE_OPENAI_DEPLOYMENT: model } = environment;
  if (!environment[keyEnv] || !endpoint || !model) return undefined;
  const baseUrl = `${endpoint.replace(/\/$/, '')}/openai/v1`;
  return { presets: { [model]: { vendor: 'azure', model, baseUrl, keyEnv } }, preferred: model };
}

function bedrock(environment: Environment, prices: PriceList): Found | undefined {
  const keyEnv = 'AWS_BEARER_TOKEN_BEDROCK';
  const { AWS_REGION: region } = environment;
  const [preferred, ...others] = prices.modelsOf('bedrock');
  if (!environment[keyEnv] || !region || preferred === undefined) return undefined;
  const connection = { vendor: 'bedrock', baseUrl: `https://bedrock-runtime.${region}.amazonaws.com`, keyEnv };
  const presets = [preferred, ...others].map((model) => [model, { ...connection, model }] as const);
  return { presets: Object.fromEntries(presets), preferred };
}
