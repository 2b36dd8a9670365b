import { textPart } from '#rollcall/providers';
import { currentPreview, previewOf, resultPreviewOf } from './run.preview.js';

describe('the preview of contents', () => {
  it('S-4 has the first 200 characters of the texts, and the number and the size of the parts', () => {
    const parts = [textPart('a'.repeat(150)), textPart('b'.repeat(150))];
    const bytes = Buffer.byteLength(JSON.stringify(parts));
    expect(previewOf(parts)).toEqual({ text: 'a'.repeat(150) + 'b'.repeat(50), parts: 2, bytes, truncated: true });
    expect(previewOf([textPart('short')])).toMatchObject({ text: 'short', truncated: false });
    expect(previewOf([])).toEqual({ text: '', parts: 0, bytes: 2, truncated: false });
  });

  it('S-4 has the beginning of the data if there is no text, and never the content of a file', () => {
    const data = { type: 'data', data: { answer: 42 } } as const;
    const file = { type: 'file', bytes: 'QUJD', mediaType: 'text/plain' } as const;
    expect(previewOf([file, data])).toMatchObject({ text: '{"answer":42}', parts: 2, truncated: true });
    expect(previewOf([file])).toMatchObject({ text: '', parts: 1, truncated: true });
  });

  it('S-4 does not cut a character in half', () => {
    expect(previewOf([textPart(`${'x'.repeat(199)}😀`)]).text).toBe('x'.repeat(199));
  });

  it('S-4 says why a run ended, and how many calls wait for a decision while it waits', () => {
    const call = { callId: 'c', tool: 'pay', input: {}, inputHash: 'h' };
    const result = { parts: [], reason: 'budget', detail: 'd'.repeat(900), approvals: [call] };
    const preview = resultPreviewOf(result);
    expect(preview).toMatchObject({ reason: 'budget', detail: 'd'.repeat(500), approvals: 1 });
    expect(currentPreview('waiting', preview)).toBe(preview);
    expect(currentPreview('stopped', preview)).not.toHaveProperty('approvals');
    expect(currentPreview('running', preview)).toEqual({ text: '', parts: 0, bytes: 2, truncated: false });
    expect(currentPreview('queued', null)).toBeNull();
  });
});
