import { inert } from '../labels/inert.text.js';

/**
 * Puts a text of a third party between tags, so that a model can distinguish the text from its instructions. The text can neither
 * close the tag nor imitate another tag of the runtime.
 */
export function labelled(tag: string, attributes: Readonly<Record<string, string>>, text: string): string {
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeAttribute(value)}"`);
  return `<${tag}${written.join('')}>\n${inert(text, tag)}\n</${tag}>`;
}

function escapeAttribute(value: string): string {
  return inert(value).replace(/[&"<>\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
