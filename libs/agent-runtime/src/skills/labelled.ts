/**
 * Puts a text of a third party between tags, so that a model can tell it from its instructions. The text cannot end the tag
 * itself, because every `<` that begins one of these tags is escaped.
 */
export function labelled(tag: string, attributes: Readonly<Record<string, string>>, text: string): string {
  const inner = text.replace(new RegExp(`<(?=[\\s/]*${tag}\\b)`, 'gi'), '&lt;');
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeAttribute(value)}"`);
  return `<${tag}${written.join('')}>\n${inner}\n</${tag}>`;
}

function escapeAttribute(value: string): string {
  return value.replace(/[&"<>\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
