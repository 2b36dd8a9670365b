import { z } from 'zod';

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

export function needOf(what: string, met: boolean, how: string): Need {
  return met ? { what, met } : { what, met, how };
}

/** The settings of a provider as JSON Schema, for views. */
export function settingsView(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _draft, ...view } = z.toJSONSchema(schema, { io: 'input' });
  return view;
}
