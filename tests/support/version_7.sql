-- What library.db looked like in version 7. Never to be edited: libraries of that version look like this for good.
CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
)
 WITHOUT ROWID;

CREATE TABLE documents (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	title TEXT NOT NULL, 
	card TEXT NOT NULL, 
	added_at TEXT NOT NULL, 
	confidence REAL NOT NULL, 
	model TEXT NOT NULL, 
	record TEXT NOT NULL, 
	meta JSON DEFAULT '{}' NOT NULL, 
	UNIQUE (id)
);

CREATE TABLE changes (
	generation INTEGER NOT NULL, 
	document INTEGER, 
	kind TEXT NOT NULL, 
	PRIMARY KEY (generation), 
	CONSTRAINT changes_kind CHECK (kind IN ('added', 'deleted', 'described', 'embedded'))
);

CREATE TABLE grades (
	"key" TEXT NOT NULL, 
	grade TEXT NOT NULL, 
	PRIMARY KEY ("key")
)
 WITHOUT ROWID;

CREATE TABLE searches (
	"key" TEXT NOT NULL, 
	found_at TEXT NOT NULL, 
	pages TEXT NOT NULL, 
	PRIMARY KEY ("key")
)
 WITHOUT ROWID;

CREATE TABLE runs (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	question TEXT NOT NULL, 
	strategy TEXT NOT NULL, 
	action TEXT, 
	started_at TEXT NOT NULL, 
	seconds REAL NOT NULL, 
	trace TEXT NOT NULL, 
	events TEXT NOT NULL, 
	via TEXT DEFAULT '' NOT NULL, 
	UNIQUE (id)
);

CREATE INDEX runs_asked ON runs (number, via, id) WHERE id NOT GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9]*';

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

CREATE TABLE purged (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	at TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	model TEXT NOT NULL, 
	content TEXT NOT NULL, 
	vectors BLOB NOT NULL, 
	bytes BLOB NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE question_sets (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	questions INTEGER NOT NULL, 
	problems INTEGER NOT NULL, 
	added_at TEXT NOT NULL, 
	content TEXT NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE files (
	document INTEGER NOT NULL, 
	bytes BLOB NOT NULL, 
	PRIMARY KEY (document), 
	FOREIGN KEY(document) REFERENCES documents (number) ON DELETE CASCADE
);

CREATE TABLE chunks (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	document INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	page INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	context TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	lines TEXT NOT NULL, 
	place TEXT DEFAULT '' NOT NULL, 
	UNIQUE (id), 
	FOREIGN KEY(document) REFERENCES documents (number) ON DELETE CASCADE
);

CREATE INDEX chunks_by_document ON chunks (document, ordinal);

CREATE TABLE evaluations (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	question_set TEXT NOT NULL, 
	strategy TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	parts TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	started_at TEXT NOT NULL, 
	finished_at TEXT NOT NULL, 
	UNIQUE (id), 
	FOREIGN KEY(question_set) REFERENCES question_sets (id) ON DELETE CASCADE
);

CREATE INDEX evaluations_by_set ON evaluations (question_set);

CREATE TABLE vectors (
	chunk INTEGER NOT NULL, 
	vector BLOB NOT NULL, 
	PRIMARY KEY (chunk), 
	FOREIGN KEY(chunk) REFERENCES chunks (number) ON DELETE CASCADE
);

CREATE TABLE labels (
	chunk TEXT NOT NULL, 
	question TEXT NOT NULL, 
	label TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (chunk, question), 
	FOREIGN KEY(chunk) REFERENCES chunks (id) ON DELETE CASCADE
);

CREATE TABLE tracks (
	chunk INTEGER NOT NULL, 
	retrieved INTEGER NOT NULL, 
	used INTEGER NOT NULL, 
	graded INTEGER NOT NULL, 
	score_sum REAL NOT NULL, 
	last_score REAL, 
	last_action TEXT NOT NULL, 
	last_at TEXT NOT NULL, 
	last_used TEXT NOT NULL, 
	PRIMARY KEY (chunk), 
	FOREIGN KEY(chunk) REFERENCES chunks (number) ON DELETE CASCADE
);

CREATE TABLE results (
	evaluation INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (evaluation, place), 
	FOREIGN KEY(evaluation) REFERENCES evaluations (number) ON DELETE CASCADE
);
