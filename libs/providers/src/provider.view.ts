import type { AgentType } from './agents/agent.js';
import type { AgentProvider } from './agents/agent.provider.js';
import type { ModelVendor } from './models/model.vendor.js';
import { needOf, type Need } from './provider.facts.js';
import type { PresetBook } from './presets/preset.book.js';
import type { SecretSource } from './secret.js';

export interface ProviderView {
  kind: 'agent' | 'model';
  name: string;
  agentType?: AgentType;
  about: string;
  /** Whether all its needs are met here and now. */
  usable: boolean;
  needs: Need[];
  settings?: Record<string, unknown>;
  /** Of a model vendor: the presets that use it. */
  presets?: string[];
}

export function agentProviderView(provider: AgentProvider): ProviderView {
  const { about, needs = [], settings } = provider.facts?.() ?? { about: '' };
  const { name, agentType } = provider;
  return { kind: 'agent', name, agentType, about, usable: areMet(needs), needs, ...(settings && { settings }) };
}

/** A vendor can be used as soon as one way to it is complete: its own address and key, or those of a preset. */
export function vendorView(vendor: ModelVendor, book: PresetBook, secrets: SecretSource): ProviderView {
  const { name, about = '' } = vendor;
  const presets = book.list().filter((preset) => preset.vendor === name);
  const ways = [book.connectionOf(name), ...presets].map((way) => needsOf(vendor, way, secrets));
  const needs = ways.find(areMet) ?? ways[0] ?? [];
  return { kind: 'model', name, about, usable: areMet(needs), needs, presets: presets.map((preset) => preset.name) };
}

function needsOf(vendor: ModelVendor, way: { baseUrl?: string; keyEnv?: string }, secrets: SecretSource): Need[] {
  const { baseUrl, keyEnv } = way;
  const key = keyEnv === undefined ? undefined : secrets(keyEnv);
  return [
    ...(vendor.needsKey || keyEnv ? [needOf(keyEnv ?? 'a key', key !== undefined, howToGiveKey(keyEnv))] : []),
    ...(vendor.needsAddress ? [needOf('an address', baseUrl !== undefined, HOW_TO_GIVE_ADDRESS)] : []),
  ];
}

const HOW_TO_GIVE_ADDRESS = 'Give a preset, or the vendor under models.vendors, its baseUrl.';

function howToGiveKey(keyEnv?: string): string {
  return keyEnv
    ? `Set ${keyEnv} where Rollcall runs.`
    : 'Name its environment variable as keyEnv of the preset or vendor.';
}

function areMet(needs: Need[]): boolean {
  return needs.every(({ met }) => met);
}
