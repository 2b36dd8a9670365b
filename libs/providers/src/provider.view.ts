import { z } from 'zod';
import type { AgentType } from './agents/agent.js';
import type { AgentProvider } from './agents/agent.provider.js';
import type { ModelVendor } from './models/model.vendor.js';
import type { PresetBook } from './presets/preset.book.js';
import type { SecretSource } from './secret.js';

/** Something a provider cannot do without. */
export interface Need {
  what: string;
  met: boolean;
  /** What an operator does about it, where it is not met. */
  how?: string;
}

/** What a provider says about itself. */
export interface ProviderFacts {
  about: string;
  needs?: Need[];
  /** JSON Schema of the settings that a definition gives. */
  settings?: Record<string, unknown>;
}

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

export function needOf(what: string, met: boolean, how: string): Need {
  return met ? { what, met } : { what, met, how };
}

/** The settings of a provider as JSON Schema, for views. */
export function settingsView(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _draft, ...view } = z.toJSONSchema(schema, { io: 'input' });
  return view;
}

function areMet(needs: Need[]): boolean {
  return needs.every(({ met }) => met);
}
