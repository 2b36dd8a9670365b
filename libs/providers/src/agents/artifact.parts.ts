import { isDeepStrictEqual } from 'node:util';
import type { ArtifactChunk } from './agent.js';
import { type ContentPart, textPart } from './content.part.js';

/** Collects the chunks of all artifacts of one call. */
export class ArtifactParts {
  private readonly artifacts = new Map<string, ContentPart[]>();

  /** The parts of all artifacts, in the order in which the artifacts began. */
  get parts(): ContentPart[] {
    return [...this.artifacts.values()].flat();
  }

  has(id: string): boolean {
    return this.artifacts.has(id);
  }

  apply({ id, parts, append }: Pick<ArtifactChunk, 'id' | 'parts' | 'append'>): void {
    const collected = (append && this.artifacts.get(id)) || [];
    for (const part of parts) addPart(collected, part);
    this.artifacts.set(id, collected);
  }

  /**
   * Returns what a complete artifact adds to the chunks received before, or undefined if it differs from them. An agent may
   * send an artifact in chunks and then again as a whole.
   */
  additionOf(id: string, whole: readonly ContentPart[]): ContentPart[] | undefined {
    const before = this.artifacts.get(id) ?? [];
    const after = joinTexts(whole);
    const last = before.length - 1;
    const isSame = before.slice(0, -1).every((part, index) => isDeepStrictEqual(part, after[index]));
    const addition = last < 0 ? [] : isSame && additionTo(before[last], after[last]);
    return addition ? [...addition, ...after.slice(before.length)] : undefined;
  }
}

function additionTo(before: ContentPart | undefined, after: ContentPart | undefined): ContentPart[] | undefined {
  if (isDeepStrictEqual(before, after)) return [];
  if (before?.type !== 'text' || after?.type !== 'text' || !after.text.startsWith(before.text)) return undefined;
  return [textPart(after.text.slice(before.text.length))];
}

/** Adds a part. A text is joined with a text before it, because agents send texts in many small chunks. */
function addPart(parts: ContentPart[], part: ContentPart): void {
  const before = parts.at(-1);
  if (part.type === 'text' && before?.type === 'text') parts[parts.length - 1] = textPart(before.text + part.text);
  else parts.push(part);
}

function joinTexts(parts: readonly ContentPart[]): ContentPart[] {
  const joined: ContentPart[] = [];
  for (const part of parts) addPart(joined, part);
  return joined;
}
