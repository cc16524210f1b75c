-- What library.db looked like in version 4. Never to be edited: libraries of that version look like this for good.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    card TEXT NOT NULL,
    added_at TEXT NOT NULL,
    confidence REAL NOT NULL,
    model TEXT NOT NULL,
    record TEXT NOT NULL
);

CREATE TABLE files (
    document INTEGER PRIMARY KEY REFERENCES documents (number) ON DELETE CASCADE,
    bytes BLOB NOT NULL
);

CREATE TABLE chunks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    page INTEGER NOT NULL,
    "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    kind TEXT NOT NULL,
    lines TEXT NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document, ordinal);

CREATE TABLE vectors (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (number) ON DELETE CASCADE,
    vector BLOB NOT NULL
);

CREATE VIRTUAL TABLE chunk_search USING fts5 (
    context, text, content = 'chunks', content_rowid = 'number',
    tokenize = "porter unicode61 remove_diacritics 2"
);
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_search (rowid, context, text) VALUES (new.number, new.context, new.text);
END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
    INSERT INTO chunk_search (chunk_search, rowid, context, text)
    VALUES ('delete', old.number, old.context, old.text);
END;

CREATE TABLE grades (key TEXT PRIMARY KEY, grade TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL,
    strategy TEXT NOT NULL,
    action TEXT,
    started_at TEXT NOT NULL,
    seconds REAL NOT NULL,
    trace TEXT NOT NULL,
    events TEXT NOT NULL
);

CREATE TABLE labels (
    chunk TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (chunk, question)
);

CREATE TABLE searches (key TEXT PRIMARY KEY, found_at TEXT NOT NULL, pages TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE calls (
    run TEXT NOT NULL,
    at TEXT NOT NULL,
    step TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    seconds REAL NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    failed INTEGER NOT NULL
);
CREATE INDEX calls_by_run ON calls (run);
CREATE INDEX calls_by_time ON calls (at);

CREATE TABLE question_sets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    questions INTEGER NOT NULL,
    problems INTEGER NOT NULL,
    added_at TEXT NOT NULL,
    content TEXT NOT NULL
);

CREATE TABLE evaluations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    question_set TEXT NOT NULL REFERENCES question_sets (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    settings TEXT NOT NULL,
    parts TEXT NOT NULL,
    key TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL
);
CREATE INDEX evaluations_by_set ON evaluations (question_set);

CREATE TABLE results (
    evaluation INTEGER NOT NULL REFERENCES evaluations (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    row TEXT NOT NULL,
    PRIMARY KEY (evaluation, place)
);

CREATE INDEX runs_asked ON runs (number) WHERE id NOT GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9]*';
