import { z } from 'zod';
import { defineTool, type ToolBox, toolBox } from '../tool.js';

const Key = z.string().min(1).max(100);
const RememberInput = z.strictObject({ key: Key, value: z.string().describe('Any text, including JSON.') });
const RecallInput = z.strictObject({ key: Key.optional().describe('If absent, all keys are listed.') });

const remember = defineTool({
  name: 'remember',
  description: 'Stores a text under a key until this run ends. A later call with the same key replaces it.',
  input: RememberInput,
  idempotent: true,
  execute({ key, value }, { memory }) {
    memory.set(key, value);
    return `Stored under ${key}.`;
  },
});

const recall = defineTool({
  name: 'recall',
  description: 'Returns the text that was stored under a key in this run.',
  input: RecallInput,
  idempotent: true,
  execute({ key }, { memory }) {
    if (key === undefined) return { keys: memory.keys() };
    const value = memory.get(key);
    return value === undefined ? { stored: false, keys: memory.keys() } : { stored: true, value };
  },
});

/** Gives the model access to the values that the tools of one run share. */
export const MEMORY_TOOLBOX: ToolBox = toolBox('memory', [remember, recall]);
