import { z } from 'zod';

/** A requirement of a provider. */
export interface Need {
  what: string;
  met: boolean;
  /** What an operator has to do if the requirement is not met. */
  how?: string;
}

/** The description of a provider. */
export interface ProviderDescription {
  about: string;
  needs?: Need[];
  /** The JSON Schema of the settings in a definition. */
  settings?: Record<string, unknown>;
}

export function needOf(what: string, met: boolean, how: string): Need {
  return met ? { what, met } : { what, met, how };
}

/** Converts the settings of a provider to JSON Schema. */
export function settingsView(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _draft, ...view } = z.toJSONSchema(schema, { io: 'input' });
  return view;
}
