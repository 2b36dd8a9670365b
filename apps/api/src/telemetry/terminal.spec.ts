import { TerminalSummary } from './terminal.js';

describe('the summary on a terminal', () => {
  let lines: string[];
  let summary: TerminalSummary;
  beforeEach(() => {
    lines = [];
    summary = new TerminalSummary((kind, text) => void lines.push(`${kind} ${text}`));
  });

  it('writes one line for each kind of event, and counts repeated texts (N5)', () => {
    summary.add('agent.joined', 'a');
    summary.add('http.rejected', '404 GET /v1/agents/x');
    summary.add('agent.joined', 'b');
    summary.add('http.rejected', '404 GET /v1/agents/x');
    summary.flush();
    summary.flush();
    expect(lines).toEqual(['agent.joined a, b', 'http.rejected 404 GET /v1/agents/x ×2']);
  });

  it('names the first five texts of a kind, and counts the others', () => {
    for (let index = 0; index < 500; index++) summary.add('agent.left', `a${index}`);
    summary.flush();
    expect(lines).toEqual(['agent.left a0, a1, a2, a3, a4 and 495 more']);
  });
});
