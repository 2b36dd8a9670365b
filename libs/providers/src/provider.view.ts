import type { AgentType } from './agents/agent.js';
import { type AgentProvider, type Need, needOf } from './agents/agent.provider.js';
import type { ModelVendor } from './models/model.vendor.js';
import type { PresetCatalog } from './presets/preset.catalog.js';
import type { SecretSource } from './secrets/secret.js';

export interface ProviderView {
  kind: 'agent' | 'model';
  name: string;
  agentType?: AgentType;
  about: string;
  /** Whether all its requirements are met at this time. */
  usable: boolean;
  needs: Need[];
  settings?: Record<string, unknown>;
  /** For a model vendor: the presets that use it. */
  presets?: string[];
}

export function agentProviderView(provider: AgentProvider, namespace?: string): ProviderView {
  const { about, needs = [], settings } = provider.describe?.(namespace) ?? { about: '' };
  const { name, agentType } = provider;
  return { kind: 'agent', name, agentType, about, usable: areMet(needs), needs, ...(settings && { settings }) };
}

/** A vendor is usable if its default connection or the connection of one preset has the required address and key. */
export function vendorView(vendor: ModelVendor, catalog: PresetCatalog, secrets: SecretSource): ProviderView {
  const { name, about = '' } = vendor;
  const presets = catalog.list().filter((preset) => preset.vendor === name);
  const alternatives = [catalog.connectionOf(name), ...presets].map((one) => needsOf(vendor, one, secrets));
  const needs = alternatives.find(areMet) ?? alternatives[0] ?? [];
  return { kind: 'model', name, about, usable: areMet(needs), needs, presets: presets.map((preset) => preset.name) };
}

function needsOf(
  vendor: ModelVendor,
  connection: { baseUrl?: string; keyEnv?: string },
  secrets: SecretSource,
): Need[] {
  const { baseUrl, keyEnv } = connection;
  const key = keyEnv === undefined ? undefined : secrets(keyEnv);
  return [
    ...(vendor.needsKey || keyEnv ? [needOf(keyEnv ?? 'a key', key !== undefined, howToSetKey(keyEnv))] : []),
    ...(vendor.needsBaseUrl ? [needOf('an address', baseUrl !== undefined, HOW_TO_SET_ADDRESS)] : []),
  ];
}

const HOW_TO_SET_ADDRESS = 'Set baseUrl in a preset, or for the vendor in models.vendors.';

function howToSetKey(keyEnv?: string): string {
  return keyEnv
    ? `Set ${keyEnv} where Rollcall runs.`
    : 'Set keyEnv of the preset or vendor to the name of the environment variable that contains the key.';
}

function areMet(needs: Need[]): boolean {
  return needs.every(({ met }) => met);
}
