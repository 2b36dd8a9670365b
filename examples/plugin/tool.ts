import { defineTool, type Tool, z } from 'rollcall/plugin';

/** A tool in the language of the configuration. */
export function greetIn(language: 'en' | 'fr'): Tool {
  return defineTool({
    name: 'greet',
    description: 'Greets a person.',
    input: z.object({ name: z.string() }),
    idempotent: true, // it may be called again after a crash
    execute: ({ name }) => (language === 'fr' ? `Bonjour ${name}` : `Hello ${name}`),
  });
}
